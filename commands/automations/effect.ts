/** What became of the messages that a run posted: a run ends when they are in the outbox, and hooks or operators may withhold them there. */
import { z } from "zod";
import type { AutomationRun } from "../../src/domain/automation.js";
import type { CommandDeps } from "../deps.js";
import { endText } from "../journey/why-not-reached.js";
import { code } from "../text.js";
import { placeText } from "../who.js";
import { statusText } from "./show-run.js";

/** The output of a chat handler. An edit of an earlier message names that one, and is left out. */
const output = z.object({
  said: z.array(z.object({ delivery: z.string().optional(), edited: z.boolean().optional() })),
});
const WITHHELD: ReadonlySet<string> = new Set(["cancelled", "suppressed", "held", "dead"]);
const MAX_DISPATCHES = 20;

export interface Effect {
  /** In place of the status. */
  outcome: string;
  /** Sentences, in Markdown. */
  text: string;
  withheld: { delivery: string; status: string; reason: string | undefined }[];
}

/** Undefined when nothing that it posted was withheld. */
export async function effectOf(deps: CommandDeps, run: AutomationRun): Promise<Effect | undefined> {
  const posts = run.attempts.flatMap((attempt) => {
    const { data } = output.safeParse(attempt.output);
    return (data?.said ?? []).flatMap(({ delivery, edited }) => (delivery === undefined || edited ? [] : [delivery]));
  });
  const found = await Promise.all([...new Set(posts)].map((id) => deps.store.outbox.get(id)));
  const withheld = found.flatMap((one) => (one && WITHHELD.has(one.status) ? [one] : []));
  if (withheld.length === 0) return undefined;
  const lines = await Promise.all(
    withheld.map(async (delivery) => {
      const dispatches = await deps.store.journal.list({ of: delivery.id, limit: MAX_DISPATCHES });
      return `its message ${code(delivery.id)} to ${placeText(deps, delivery.address)} is ${endText(delivery, dispatches)}`;
    }),
  );
  const isAll = withheld.length === found.length;
  return {
    outcome:
      run.status !== "succeeded"
        ? statusText(run.status)
        : isAll
          ? "⊘ not sent"
          : `${statusText(run.status)}, ${withheld.length} of ${found.length} not sent`,
    text: `⊘ ${isAll ? "It had **no effect**" : "A part had **no effect**"}: ${lines.join("; ")}.`,
    withheld: withheld.map(({ id: delivery, status, reason }) => ({ delivery, status, reason })),
  };
}
