/** Makes the definition of a form in which no issue was found. */
import { createHash } from "node:crypto";
import { type Address, formatAddress, parseAddress } from "../../domain/chat/address.js";
import type { Matcher } from "../../hooks/registration/matcher.js";
import type { ChatRef, Handler } from "../handler.js";
import { HERE } from "../outgoing/chat-address.js";
import { endsBefore } from "../program.js";
import type { Step } from "../step.js";
import { isTemplate } from "../template/is-template.js";
import { type CheckedForm, defaultWhenBusy, isWaitedFor } from "./check-effects.js";
import type { compileTemplates } from "./check-templates.js";
import type { Definition, Place } from "./definition.js";
import { unexpanded } from "./unexpanded.js";

/** A step or the handler, with the options that determine its needs. */
export interface Used {
  readonly needs: Step | Handler;
  readonly options: unknown;
}

/** The findings of the check. */
export interface Found {
  readonly match: Matcher | undefined;
  readonly compiled: NonNullable<ReturnType<typeof compileTemplates>>;
  /** In the order in which they run. */
  readonly used: readonly Used[];
  /** Names of environment variables. */
  readonly secrets: readonly string[];
  /** The chats that the handler names. */
  readonly chats: readonly ChatRef[];
  /** The event is about a conversation. */
  readonly hasHere: boolean;
}

export function buildDefinition(
  { form, raw, body, trigger, point, phase, execution }: CheckedForm,
  found: Found,
  where: { place: Place; folder: string },
): Definition {
  const { match, compiled, used, secrets, chats } = found;
  const { run, context } = body;
  const hash = createHash("sha256").update(JSON.stringify(raw)).digest("base64url").slice(0, 22);
  return {
    id: form.id,
    ...optional("description", form.description),
    enabled: form.enabled,
    ...where,
    trigger,
    point: point.name,
    ...optional("phase", phase),
    ...optional("match", match),
    ...compiled,
    skipWhen: form.skip_when,
    execution,
    ...optional("timeoutMs", form.timeout),
    onFailure: form.on_failure,
    ...optional("fallback", form.fallback),
    cooldownMs: form.cooldown,
    concurrency: form.concurrency,
    ...optional("maxPerHour", form.max_per_hour),
    whenBusy: form.when_busy ?? defaultWhenBusy({ trigger, execution }),
    maxQueued: form.max_queued,
    retry: form.retry && { attempts: form.retry.attempts, backoffMs: form.retry.backoff },
    ...optional("notify", form.notify),
    keep: { maxAgeMs: form.keep.max_age, maxRuns: form.keep.max_runs },
    ...optional("priority", form.priority),
    after: form.after,
    before: form.before,
    ...optional("sees", form.sees),
    ...optional("capabilities", form.capabilities),
    critical: form.critical,
    hash,
    version: () => [hash, where.folder, run?.handler.version?.(run.options, where.folder)].join(),
    secrets,
    chats: chats
      .concat((form.notify?.to ?? []).map((text) => ({ path: ["notify", "to"], text })))
      .filter(({ text }) => text !== HERE && !isTemplate(text)),
    mayPostIn: (conversation, current) => mayPostIn(compiled.run.handler, chats, conversation, current),
    missing: (machine) => missingOf(found, { ...machine, folder: where.folder }),
    faults: async () => (await run?.handler.faults?.(run.options, where.folder)) ?? [],
    ownerOnly: used.some(({ needs }) => needs.ownerOnly === true),
    isIdle: !isWaitedFor(execution) && run?.handler.idle?.(run.options, true) !== undefined,
    unexpanded: [run, ...context].flatMap((one) => unexpanded(one?.options)),
    leavesRunning: [run, ...context].some((one) => endsBefore(one?.options)),
    assignees: context.flatMap((one) => {
      const assignee = one?.step.assignee?.(one.options);
      if (assignee === undefined) return [];
      return [isTemplate(assignee) ? undefined : assignee];
    }),
  };
}

/** For a key that is absent when it has no value. */
export function optional<K extends string, V>(key: K, value: V | undefined): { [name in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [name in K]?: V });
}

function mayPostIn(
  handler: Handler,
  chats: readonly ChatRef[],
  conversation: string,
  current: (at: Address) => Address,
): boolean {
  if (handler.chats === undefined) return handler.name !== "shell" && handler.name !== "http";
  return chats.some(({ text }) => {
    if (text === HERE || isTemplate(text)) return true;
    const at = parseAddress(text.trim());
    return at !== undefined && `${conversation}:`.startsWith(`${formatAddress(current(at))}:`);
  });
}

function missingOf(
  { used, hasHere }: Found,
  machine: Parameters<Definition["missing"]>[0] & { folder: string },
): readonly string[] {
  return used.flatMap(({ needs, options }, index) => {
    const isAfterProgram = used.slice(0, index).some((before) => before.needs.ownerOnly === true);
    return needs.missing?.(options, { ...machine, isAfterProgram, hasHere }) ?? [];
  });
}
