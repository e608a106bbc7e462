/** What became of the messages that a run posted: a run ends when they are in the outbox, and hooks or operators may withhold them there. */
import type { AutomationRun } from "../../src/domain/automation.js";
import type { CommandDeps } from "../deps.js";
import { endText } from "../journey/why-not-reached.js";
import { isAmbiguous } from "../outbox/letter.js";
import { code } from "../text.js";
import { conversationText, placeText } from "../who.js";
import { saidBy, shownReason } from "./said.js";
import { statusText } from "./show-run.js";

const WITHHELD: ReadonlySet<string> = new Set(["cancelled", "suppressed", "held", "dead"]);
const MAX_DISPATCHES = 20;

export interface Effect {
  /** In place of the status. */
  outcome: string;
  /** Sentences, in Markdown. */
  text: string;
  /** `isInDoubt`: the platform gave no clear answer, so people may have seen the message. */
  withheld: { delivery: string; status: string; reason: string | undefined; isInDoubt: boolean }[];
}

/** Undefined when every message that it posted was sent, or is on its way, to where it was to go. */
export async function effectOf(deps: CommandDeps, run: AutomationRun): Promise<Effect | undefined> {
  const said = saidBy(run);
  const posts = said.flatMap(({ delivery, edited }) => (delivery === undefined || edited ? [] : [delivery]));
  const found = await Promise.all([...new Set(posts)].map((id) => deps.store.outbox.get(id)));
  const withheld = found.flatMap((one) => (one && WITHHELD.has(one.status) ? [one] : []));
  const threadless = said.flatMap(({ to, noThread }) => (noThread === undefined ? [] : [{ to, noThread }]));
  if (withheld.length === 0 && threadless.length === 0) return undefined;
  const inDoubt = withheld.filter(isAmbiguous);
  const unsent = withheld.filter((one) => !isAmbiguous(one));
  const lines = await Promise.all(
    unsent.map(async (delivery) => {
      const dispatches = await deps.store.journal.list({ of: delivery.id, limit: MAX_DISPATCHES });
      return `its message ${code(delivery.id)} to ${placeText(deps, delivery.address)} is ${endText(delivery, dispatches)}`;
    }),
  );
  const sentences = [
    ...(unsent.length === 0
      ? []
      : [
          `⊘ ${unsent.length === found.length ? "It had **no effect**" : "A part had **no effect**"}: ${lines.join("; ")}.`,
        ]),
    ...inDoubt.map(
      ({ id, address }) =>
        `⚠ Whether its message ${code(id)} to ${placeText(deps, address)} arrived is **not known**. It is held until an operator decides: ${code(`/outbox show ${id}`)}.`,
    ),
    ...threadless.map(
      ({ to, noThread }) =>
        `⚠ Its message${to === undefined ? "" : ` to ${conversationText(deps, to)}`} went to the chat itself: ${shownReason(noThread)}`,
    ),
  ];
  return {
    outcome:
      withheld.length === 0
        ? statusText(run.status)
        : outcomeOf(run, { unsent: unsent.length, inDoubt: inDoubt.length, all: found.length }),
    text: sentences.join("\n"),
    withheld: withheld.map((delivery) => ({
      delivery: delivery.id,
      status: delivery.status,
      reason: delivery.reason,
      isInDoubt: isAmbiguous(delivery),
    })),
  };
}

function outcomeOf({ status }: AutomationRun, count: { unsent: number; inDoubt: number; all: number }): string {
  if (status !== "succeeded") return statusText(status);
  if (count.unsent === count.all) return "⊘ not sent";
  if (count.inDoubt === count.all) return "⚠ in doubt";
  const parts = [
    ...(count.unsent === 0 ? [] : [`${count.unsent} of ${count.all} not sent`]),
    ...(count.inDoubt === 0 ? [] : [`${count.inDoubt} of ${count.all} in doubt`]),
  ];
  return [statusText(status), ...parts].join(", ");
}
