/** Which points were firing when the process ended, as far as the queues know: the journal records a dispatch at its end. */
import { numberedDispatch } from "../../src/domain/journal.js";
import type { CommandDeps } from "../deps.js";
import { cutOffsOf, undecidedOf } from "./cut-off.js";

/** How far messages and deliveries are looked through. */
const LAST = 200;
/** How many of the rows that were cut off are looked up in the journal. */
const MAX_LOOKED_UP = 10;

/** Gives the last message or delivery whose hooks of a point were cut off, and of which nothing is recorded there. Reads once per point. */
export function cutOffFinder(deps: CommandDeps): (point: string) => Promise<string | undefined> {
  const known = new Map<string, Promise<string | undefined>>();
  return (point) => {
    const found = known.get(point) ?? lastCutOff(point, deps);
    known.set(point, found);
    return found;
  };
}

async function lastCutOff(point: string, { store }: CommandDeps): Promise<string | undefined> {
  for (const { id, round } of await cutOffAt(point, store))
    if ((await store.journal.get(numberedDispatch(id, point, round))) === undefined) return id;
  return undefined;
}

async function cutOffAt(
  point: string,
  { inbox, outbox }: CommandDeps["store"],
): Promise<{ id: string; round: number }[]> {
  if (point === "before_dispatch" || point === "message_sending") {
    const lists = await Promise.all(
      (["held", "waiting"] as const).map((status) => outbox.list({ status, limit: LAST })),
    );
    return lists
      .flat()
      .filter((one) => undecidedOf(one) > 0)
      .slice(0, MAX_LOOKED_UP);
  }
  if (point !== "message_received" && point !== "inbound_claim") return [];
  const rows = await inbox.list({ limit: LAST });
  return rows
    .filter((row) => row.event.kind === "message" && row.outcome !== "command" && row.outcome !== "denied")
    .filter((row) => cutOffsOf(row) > 0)
    .slice(0, MAX_LOOKED_UP)
    .map(({ id, round }) => ({ id: `m${id}`, round: point === "message_received" ? 1 : round }));
}
