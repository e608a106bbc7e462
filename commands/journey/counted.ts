/** A dispatch that was asked again: the number under which the hooks decided at last, and their decision. */
import { type DispatchRecord, rootOf } from "../../src/domain/journal.js";
import type { Delivery, InboxRow } from "../../src/domain/store.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import type { CommandDeps } from "../deps.js";
import { dispatchOutcome } from "../runs/show-dispatch.js";
import { clockTime, code, plain } from "../show/text.js";
import { isPutOff } from "./put-off.js";

/** Points whose hooks decide; each new round of a message or a delivery fires them under the next number. */
const DECIDING: ReadonlySet<string> = new Set(["inbound_claim", "before_dispatch", "message_sending"]);

/** A sentence, in Markdown; undefined for the dispatch that counted. */
export async function whatCounted(deps: CommandDeps, { id, point, runs }: DispatchRecord): Promise<string | undefined> {
  const [, number = "1"] = /^(?:m\d+|d_[^:/]+):[a-z_]+(?::(\d+))?$/.exec(id) ?? [undefined, "none"];
  if (number === "none" || !DECIDING.has(point)) return undefined;
  const { inbox, outbox, journal } = deps.store;
  const root = rootOf(id);
  const row = root.startsWith("m") ? await inbox.get(Number(root.slice(1))) : undefined;
  const delivery = row ? undefined : await outbox.get(root);
  const { round, status } = row ?? delivery ?? {};
  if (round === undefined) return undefined;
  const end = row ? (row.status === "done" ? row.outcome : row.status) : status;
  const ended = `${code(root)} is **${plain(end ?? "settled")}**${row?.claimedBy ? ` by ${code(row.claimedBy)}` : ""}`;
  if (Number(number) < round) {
    const last = await journal.get(`${root}:${point}:${round}`);
    const waits = Number(number) + 1 === round && last === undefined ? nextTry(row ?? delivery, deps) : undefined;
    if (waits !== undefined) return `${waits}: ${ended}.`;
    return last
      ? `This was not the last word: the hooks were asked again. ${code(last.id)} counted: ${dispatchOutcome(last)}, and ${ended}.`
      : `This was not the last word: it was tried again afterwards, and ${ended}.`;
  }
  return row?.status === "done" && runs.some(isPutOff)
    ? `The message was put off more often than ${code("gateway.max_deferrals")} allows, so it was not put off again: it went on as if no hook had claimed it, and ${ended}.`
    : undefined;
}

/** For the newest attempt; undefined when the next one has ended. */
function nextTry(of: Pick<InboxRow | Delivery, "status" | "dueAt"> | undefined, { clock }: CommandDeps) {
  const now = clock.now();
  if (of?.status === "running") return "It is being tried again now";
  if (of?.status !== "deferred" && of?.status !== "waiting") return undefined;
  const at = of.dueAt > now ? ` at ${clockTime(of.dueAt, now)} (in ${formatDuration(of.dueAt - now)})` : " now";
  return `It will be tried again${at}`;
}
