/**
 * The fate of everything that a run of a hook handed to the outbox: its posts, its edits and the reply of its claim. A run ends before they
 * are sent, and hooks, operators or the platform may keep them from people. This is the one place that decides the fate, for all views.
 */
import { z } from "zod";
import type { AutomationRun } from "../automation.js";
import { answerId, REPLY_MARK } from "../journal.js";
import { type Delivery, isUnderWay, type Store } from "../store.js";
import { isInDoubt, isUntold, maySeeIt } from "./given-up.js";
import { type Purge, purgeFinder } from "./purges.js";

/**
 * withheld: not sent, and it is not sent by itself any more · in_doubt: the platform gave no clear answer, so people may have seen it ·
 * waiting: not sent yet · not_known: its row was deleted after the retention. The worst comes first.
 */
export const FATES = ["withheld", "in_doubt", "not_known", "waiting", "sent"] as const;
export type DeliveryFate = (typeof FATES)[number];

export function fateOf(delivery: Delivery): Exclude<DeliveryFate, "not_known"> {
  if (isUnderWay(delivery)) return "waiting";
  if (maySeeIt(delivery)) return "in_doubt";
  // A newer edit of the same message took its place.
  return delivery.status === "sent" || delivery.status === "superseded" ? "sent" : "withheld";
}

export interface Fate {
  /** The id of the delivery. */
  id: string;
  what: "message" | "edit" | "reply";
  state: DeliveryFate;
  /** The delivery, while the outbox has it. */
  delivery?: Delivery | undefined;
  /** The purge by which an operator deleted it. */
  purge?: Purge | undefined;
}

/** A run of a configured hook, or of a hook of a plugin, which keeps no attempts. */
export type Ran = Pick<AutomationRun, "hookId" | "dispatchId" | "status" | "attempts" | "createdAt" | "decision"> &
  Partial<Pick<AutomationRun, "trigger" | "event" | "decided">>;

interface Deps {
  store: Pick<Store, "inbox" | "outbox" | "audit">;
  findPurge: ReturnType<typeof purgeFinder>;
}

/** `findPurge`: a caller that asks about many runs shares one. */
export async function fatesOf(
  { store }: { store: Deps["store"] },
  ran: Ran,
  findPurge = purgeFinder({ store }),
): Promise<Fate[]> {
  const deps = { store, findPurge };
  const replyId = await replyOf(deps, ran);
  const made = [...(replyId === undefined ? [] : [{ id: replyId, what: "reply" as const }]), ...madeBy(ran)];
  return Promise.all(made.map((one) => readFate(deps, one, ran.createdAt)));
}

/** The deliveries that the run's handlers made, each once: posts, and edits of earlier posts. */
export function madeBy(ran: Pick<Ran, "attempts">): Pick<Fate, "id" | "what">[] {
  const made = new Map<string, Fate["what"]>();
  for (const { delivery, edit } of handedOver(ran)) {
    if (edit !== undefined) made.set(edit, "edit");
    else if (delivery !== undefined) made.set(delivery, "message");
  }
  return [...made].map(([id, what]) => ({ id, what }));
}

/** The worst fate among all parts of a run's output. */
export function worstOf(fates: readonly Fate[]): Fate["state"] | undefined {
  return FATES.find((state) => fates.some((fate) => fate.state === state));
}

async function readFate(deps: Deps, facts: Pick<Fate, "id" | "what">, since: number): Promise<Fate> {
  const delivery = await deps.store.outbox.get(facts.id);
  if (delivery !== undefined) return { ...facts, state: fateOf(delivery), delivery };
  const purge = await deps.findPurge(facts.id, since);
  return { ...facts, state: purge === undefined ? "not_known" : purgedState(purge), purge };
}

/** A delivery that was sent cannot be purged. */
function purgedState({ was }: Purge): Fate["state"] {
  if (was === undefined) return "withheld";
  if (isInDoubt(was) || isUntold(was.reason)) return "in_doubt";
  return was.status === "superseded" ? "sent" : "withheld";
}

/** The id of the delivery that answers the message which the hook claimed, where there is an answer. */
async function replyOf(deps: Deps, { hookId, dispatchId = "", decision }: Ran): Promise<string | undefined> {
  const [, message] = /^m(\d+):inbound_claim\b/.exec(dispatchId) ?? [];
  if (message === undefined) return undefined;
  const id = answerId(`m${message}`, REPLY_MARK);
  const { inbox, outbox } = deps.store;
  const row = await inbox.get(Number(message));
  // The message was deleted after the retention.
  if (row === undefined) return hasReply(decision) ? id : undefined;
  if (row.claimedBy !== hookId) return undefined;
  const isThere = row.deliveryIds?.includes(id) === true || (await outbox.get(id)) !== undefined;
  return isThere ? id : undefined;
}

const hasReply = (decision: unknown): boolean =>
  typeof decision === "object" &&
  decision !== null &&
  "reply" in decision &&
  decision.reply !== undefined &&
  decision.reply !== "";

/** The output of a chat handler. */
const output = z.object({
  said: z.array(
    z.object({
      to: z.string().optional(),
      delivery: z.string().optional(),
      edited: z.boolean().optional(),
      edit: z.string().optional(),
      noThread: z.string().optional(),
    }),
  ),
});

/** The result of the tool with which a model sends a message. */
const toolResult = z.object({ to: z.string(), delivery: z.string() });

/** The messages that the handlers of a run's attempts handed to the outbox, with their destinations. */
export function handedOver({ attempts }: Pick<AutomationRun, "attempts">): z.output<typeof output>["said"] {
  return attempts.flatMap(({ output: given, toolCalls = [] }) => [
    ...(output.safeParse(given).data?.said ?? []),
    ...toolCalls.flatMap(({ tool, result }) =>
      tool === "send_message" ? (toolResult.safeParse(result).data ?? []) : [],
    ),
  ]);
}
