/** Why a hook would run, or would not: the checks of a dispatch, made one by one and put in words. */
import type { RunRecord } from "../domain/journal.js";
import { isAsyncFunction } from "./dispatch/lifecycle.js";
import type { Kernel } from "./kernel.js";
import type { DispatchOptions } from "./options.js";
import { type Entry, infoOf, isAwaited } from "./registration/entry.js";
import type { Matcher } from "./registration/matcher.js";
import type { HookInfo } from "./registration/registration.js";
import { seenThen } from "./seen-then.js";

/** Hooks named one by one. */
const MAX_NAMES = 5;

export interface Explanation {
  hook: HookInfo;
  runs: boolean;
  /** Every check, in the order in which a dispatch makes them. */
  checks: readonly ExplainedCheck[];
  /** Since when it is registered at its point, reloads included. Milliseconds since the epoch. */
  registeredAt: number;
  /** Since when it is enabled, reloads included; undefined while it is disabled. Milliseconds since the epoch. */
  enabledAt: number | undefined;
  /** When else a hook of its id was registered at its point, in this process. Milliseconds since the epoch. */
  stays: readonly { readonly from: number; readonly until: number }[];
}
export interface ExplainedCheck {
  check: "enabled" | "only" | "plugin" | "breaker" | "sync" | "access" | "match" | "dependency" | "order";
  passed: boolean;
  /** The check passed, but something is wrong. */
  isWarning?: true;
  /** One sentence for the operator. */
  detail: string;
}

export interface ExplainOptions extends DispatchOptions {
  /** The runs of the dispatch that had the payload, where it is on record. */
  runs?: readonly RunRecord[];
}

/** `peers`: everybody at the same point and phase, in their order. Without a payload, the matcher is described and not judged. */
export function explainEntry(
  entry: Entry,
  peers: readonly Entry[],
  payload: unknown,
  options: ExplainOptions,
  kernel: Kernel,
): Omit<Explanation, "stays"> {
  const checks: ExplainedCheck[] = [
    check("enabled", entry.enabled, entry.enabled ? "It is enabled." : "It is disabled."),
  ];
  if (options.only !== undefined)
    checks.push(check("only", options.only === entry.id, `Only "${options.only}" was to run.`));
  if (entry.pluginId !== undefined) {
    checks.push(checkPlugin(entry.pluginId, payload, options, kernel));
    const refusal = kernel.limits?.refusal(entry.id);
    if (refusal !== undefined) checks.push(check("breaker", false, refusal));
  }
  if (entry.point.isSync && entry.phase === "before" && isAsyncFunction(entry.handler))
    checks.push(check("sync", false, "It is async, and this point is synchronous: it is skipped, never started."));
  if (entry.matcher !== undefined) {
    const earlier = peers.slice(0, peers.indexOf(entry)).map(({ id }) => id);
    const seen = seenThen(infoOf(entry), { payload, runs: options.runs ?? [] }, earlier);
    checks.push(checkMatcher(entry, seen, options, kernel));
  }
  checks.push(...checkDependencies(entry, peers));
  const runs = checks.every(({ passed }) => passed);
  checks.push(checkOrder(entry, peers));
  return { hook: infoOf(entry), runs, checks, registeredAt: entry.registeredAt, enabledAt: entry.enabledAt };
}

function check(name: ExplainedCheck["check"], passed: boolean, detail: string): ExplainedCheck {
  return { check: name, passed, detail };
}

function checkPlugin(
  pluginId: string,
  payload: unknown,
  { conversation, allowedPlugins }: DispatchOptions,
  { allowedPlugins: listOf, limits }: Kernel,
): ExplainedCheck {
  const allowed = allowedPlugins ?? (conversation === undefined ? undefined : listOf?.(conversation));
  if (allowed === undefined && conversation === undefined && payload !== undefined)
    return check(
      "plugin",
      true,
      "This payload is of no conversation, and gateway.allowed_plugins limits conversations.",
    );
  if (allowed === undefined && conversation === undefined) return checkLists(pluginId, limits?.allowedPlugins() ?? {});
  if (allowed === undefined) return check("plugin", true, `No plugin filter applies here (plugin "${pluginId}").`);
  return allowed.includes(pluginId)
    ? check("plugin", true, `Plugin "${pluginId}" is allowed in this conversation.`)
    : check(
        "plugin",
        false,
        `Plugin "${pluginId}" is not allowed in this conversation (gateway.allowed_plugins allows ${allowed.join(", ") || "none"}).`,
      );
}

/** Before its point has fired, the lists are named: it runs where one of them has it, or where none holds. */
function checkLists(pluginId: string, lists: Readonly<Record<string, readonly string[]>>): ExplainedCheck {
  const names = Object.keys(lists);
  const allowing = names.filter((name) => lists[name]?.includes(pluginId));
  const refusing = names.filter((name) => !allowing.includes(name));
  if (refusing.length === 0) return check("plugin", true, `No list refuses plugin "${pluginId}".`);
  const limit = `gateway.allowed_plugins does not allow plugin "${pluginId}" in ${namesOf(refusing)}`;
  if (!refusing.includes("*")) return check("plugin", true, `${limit}; it runs everywhere else.`);
  return allowing.length === 0
    ? check(
        "plugin",
        false,
        `${limit}, and allows it nowhere else. It runs only where its point fires for no conversation.`,
      )
    : check("plugin", true, `${limit}; it runs in ${namesOf(allowing)} only.`);
}

function checkMatcher(entry: Entry, payload: unknown, options: DispatchOptions, kernel: Kernel): ExplainedCheck {
  if (payload === undefined) return check("match", true, `It runs when ${matchWords(entry.options.match ?? {})}.`);
  const mismatch = entry.matcher?.mismatch(payload, options.access);
  if (mismatch === undefined) return check("match", true, "The payload matches.");
  if (mismatch.error !== undefined && entry.closing !== "open")
    return check(
      "match",
      false,
      `match.${mismatch.field} has no answer for this payload (${mismatch.reason}). ${
        kernel.background.paused?.(entry.id) === undefined
          ? `That counts as the failure of the hook, whose failure policy is ${entry.failurePolicy}.`
          : "It is skipped while configured hooks are paused."
      }`,
    );
  return check(mismatch.field === "access" ? "access" : "match", false, `match.${mismatch.field}: ${mismatch.reason}.`);
}

/** `access is allowed and platforms has one of web, discord`. */
function matchWords(match: Matcher): string {
  const words = Object.entries(match).flatMap(([field, wanted]) => {
    if (wanted === undefined) return [];
    if (field === "when") return [`${String(wanted)} is true`];
    if (field === "access") return [wanted === "any" ? "the sender is allowed or denied" : "the sender is allowed"];
    return [`${field} has one of ${[wanted].flat().join(", ")}`];
  });
  return words.length === 0 ? "its point fires" : words.join(" and ");
}

function checkDependencies(entry: Entry, peers: readonly Entry[]): ExplainedCheck[] {
  return [...(entry.options.after ?? []), ...(entry.options.before ?? [])].map((id) => {
    const other = peers.find((peer) => peer.id === id);
    if (other === undefined) {
      const detail = `"${id}" is not registered at this point, so the hook runs without that order. Correct the name, remove it, or put that hook back.`;
      return { ...check("dependency", true, detail), isWarning: true };
    }
    return check("dependency", true, other.enabled ? `"${id}" is here.` : `"${id}" is disabled, which counts as done.`);
  });
}

function checkOrder(entry: Entry, peers: readonly Entry[]): ExplainedCheck {
  const running = peers.filter((peer) => peer.enabled);
  const at = running.indexOf(entry);
  if (at < 0) return check("order", false, "It has no place in the order.");
  const earlier = running.slice(0, at);
  if (earlier.length === 0) return check("order", true, "It runs first.");
  const names = namesOf(earlier.map(({ id }) => id));
  const claims = entry.point.model === "claiming" ? "; any of them may claim first" : "";
  const unawaited = earlier.filter((peer) => !isAwaited(peer)).map(({ id }) => id);
  if (unawaited.length === earlier.length)
    return check("order", true, `It starts after ${names}, and does not wait for ${theEnd(unawaited)}.`);
  const rest = unawaited.length === 0 ? "" : ` It does not wait for the end of ${namesOf(unawaited)}.`;
  return check("order", true, `It runs after ${names}${claims}.${rest}`);
}

const theEnd = ({ length }: readonly string[]) => (length === 1 ? "its end" : "their ends");

/** A long list of names is not shown cut: how many there are, and the last of them. */
function namesOf(ids: readonly string[]): string {
  return ids.length <= MAX_NAMES ? ids.join(", ") : `${ids.length} others, directly after ${ids.at(-1)}`;
}
