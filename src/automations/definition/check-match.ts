/** `match`: every written field works with the start of the hook, or is refused. No field is accepted and then ignored. */

import { z } from "zod";
import { DUE_POINT } from "../../domain/automation.js";
import { impossibleMatches } from "../../hooks/conditions/impossible-match.js";
import { unguardedFields } from "../../hooks/conditions/optional-field.js";
import { compileMatcher, type Matcher, platformProblems } from "../../hooks/registration/matcher.js";
import { payloadSchema } from "../../hooks/registration/payload-schema.js";
import type { AnyPoint } from "../../hooks/signatures.js";
import { errorMessage } from "../../lib/errors.js";
import type { Issue } from "../../lib/validation/schema-issues.js";
import { type Definition, FILE_OPERATIONS, type Trigger } from "./definition.js";
import type { DefinitionForm } from "./schema.js";

/** The matcher of a definition's registration. Each wrong field is a separate issue. `raw`: the definition as written. */
export function matchOf(
  form: DefinitionForm,
  raw: unknown,
  trigger: Trigger,
  point: AnyPoint,
  issues: Issue[],
): Matcher | undefined {
  if (point.name === DUE_POINT) {
    issues.push(...unmatched(raw, trigger));
    return undefined;
  }
  issues.push(...ignoredFields(form, trigger, point));
  // The schema gives fields that are not there as absent, never as undefined.
  const given: Matcher = { access: "allowed", ...(form.match as Matcher | undefined) };
  const impossible =
    form.match === undefined ? [] : impossibleMatches(form.match as Matcher, seenPoint(trigger, point));
  checkFields(given, impossible, point, issues);
  if (trigger.kind === "files") return { ...given, watches: [form.id] };
  if (trigger.kind !== "on") return form.match === undefined ? undefined : given;
  return given;
}

/** The point with only the operations that start the hook, in place of all that its payload can carry. */
function seenPoint(trigger: Trigger, point: AnyPoint): AnyPoint {
  if (trigger.kind !== "files" || trigger.as !== "file" || trigger.operations.length === FILE_OPERATIONS.length)
    return point;
  const payload = point.payload as z.ZodObject;
  return { ...point, payload: payload.extend({ operation: z.enum(trigger.operations) }) };
}

/** Time and people start one hook by its name: its runs are rows already, and no payload is compared. */
function unmatched(raw: unknown, { kind }: Trigger): Issue[] {
  const who =
    kind === "manual" ? "a person starts a hook with trigger manual" : `time starts a hook with trigger ${kind}`;
  return writtenFields(raw).map((field) => ({
    path: ["match", field],
    message: `${who}, so there is nothing to match and match.${field} has no effect: remove \`match\`. To skip a run, give a step of \`context\` a skip_if`,
    ofKey: true,
  }));
}

/** Fields without effect, because something else decides. */
function ignoredFields({ id, match }: DefinitionForm, { kind }: Trigger, { name }: AnyPoint): Issue[] {
  const issues: Issue[] = [];
  const isOfOthers = match?.watches?.some((watch) => watch !== id) === true;
  if (kind === "files" && isOfOthers)
    issues.push({
      path: ["match", "watches"],
      message: `a hook with trigger files is started by its own files only: remove match.watches, or write \`on: ${name}\` in place of \`trigger\``,
    });
  const isOfNobody = name === "file.changed" || name === "folder.changed" || /^event:/.test(name);
  if (isOfNobody && match?.access === "any")
    issues.push({
      path: ["match", "access"],
      message: `no sender who may be denied causes ${name}, so match.access has no effect: remove it`,
    });
  if (name === "inbound_claim" && match?.access === "any")
    issues.push({
      path: ["match", "access"],
      message:
        "denied messages do not reach inbound_claim, so match.access has no effect: remove it, or write `on: message_received`",
    });
  return issues;
}

/** A hook that its own runs start (it is cut after some, and each is reported), or that only its own runs would start. */
export function loopNotes({ id, match, run, enabled }: Definition, { name }: AnyPoint): string[] {
  if (!enabled) return [];
  if (name === "hook_run_completed" && match?.hooks?.every((one) => one === id))
    return ["match.hooks names only the hook itself, so no event starts it: name the hooks whose runs it is for"];
  if (match?.when !== undefined || match?.hooks !== undefined) return [];
  if (name === "hook_run_completed")
    return [
      `each of its runs starts it again, until that is cut: write match.when: 'payload.hookId != "${id}"', or name the hooks in match.hooks`,
    ];
  if (run.handler.name !== "chat" || (name !== "message_sending" && name !== "message_sent")) return [];
  if (match?.chats !== undefined || match?.platforms !== undefined || match?.users !== undefined) return [];
  return [`what it posts starts it again, until that is cut: narrow it with match.chats or match.when`];
}

/** `notify` sends the answer of the agent, or at least that it ran. */
export function idleNotes({ enabled, notify, isIdle }: Definition): string[] {
  if (!enabled || notify !== undefined || !isIdle) return [];
  return [
    "its agent sends nothing, and no event waits for its answer: give it a tool that acts, `tools: [send_message]`",
  ];
}

export function leftRunningNotes({ leavesRunning }: Definition): string[] {
  if (!leavesRunning) return [];
  return [
    "its `sh` ends in &, and the gateway ends what a program leaves running: remove the &, which lets the run wait for it (in a hook with execution: background nothing else waits), or start it by a service manager, such as systemd-run",
  ];
}

/** A guard that a gate keeps from running has failed. */
export function gatedNotes({ onFailure, cooldownMs, maxPerHour, whenBusy }: Definition): string[] {
  const gates = [
    ...(cooldownMs > 0 ? ["cooldown"] : []),
    ...(maxPerHour === undefined ? [] : ["max_per_hour"]),
    ...(whenBusy === "skip" ? ["when_busy: skip"] : []),
  ];
  if (onFailure === "open" || gates.length === 0) return [];
  const consequence = onFailure === "closed" ? "what it guards is blocked" : "its fallback is used";
  return [
    `while ${gates.join(" or ")} keeps it from running, it counts as failed, and ${consequence} (on_failure: ${onFailure}): remove ${gates.join(" and ")} where it guards every event`,
  ];
}

/** Gives one sentence for each field of `match.when` that the payload may lack and that no `has(…)` protects. */
export function unguardedNotes({ match, onFailure }: Definition, point: AnyPoint): string[] {
  if (match?.when === undefined) return [];
  const consequence = {
    open: "the hook does not run for a payload without it",
    closed: "the hook fails for every payload without it, and on_failure: closed blocks that payload",
    fallback: "the hook fails for every payload without it, and its fallback is used",
  }[onFailure];
  return unguardedFields(match.when, { payload: payloadSchema(point) })
    .filter(({ isEqual }) => !isEqual || onFailure !== "open")
    .map(
      ({ name, absent, isNeverThere }) =>
        `match.when uses ${name}${isNeverThere ? ` where has(${absent}) is false, so that part has no answer` : ""}, ${name === absent && !isNeverThere ? "which" : "and"} a payload of ${point.name} may lack${name === absent && !isNeverThere ? "" : ` ${absent}`}: ${consequence}. Write has(${absent}) && … where such a payload does not concern the hook, or !has(${absent}) || … where it does`,
    );
}

/** Without the defaults of the schema. */
function writtenFields(raw: unknown): string[] {
  const match = typeof raw === "object" && raw !== null && "match" in raw ? raw.match : undefined;
  return typeof match === "object" && match !== null ? Object.keys(match) : [];
}

/** Checks each field alone, so that every wrong one is reported. The text of `impossible` on a condition is clearer than its compiler's. */
function checkFields(given: Matcher, impossible: readonly Issue[], point: AnyPoint, issues: Issue[]): void {
  const isImpossible = (name: string) => impossible.some(({ path }) => path[1] === name);
  const wrong = new Set<unknown>();
  for (const [field, wanted] of Object.entries(given))
    try {
      if (field !== "when" || !isImpossible(field)) compileMatcher({ [field]: wanted }, point.payload);
    } catch (error) {
      wrong.add(field);
      issues.push({ path: ["match", field], message: errorMessage(error).replace(`match.${field}: `, "") });
    }
  issues.push(...impossible.filter(({ path }) => !wrong.has(path[1])));
  for (const { path, message } of platformProblems(given, point.name))
    issues.push({ path: ["match", ...path], message });
}
