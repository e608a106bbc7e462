/** `/outbox retry ID|all`: a dead delivery is sent again, a dead inbox message is handled again. */
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import { answer } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { code, count } from "../text.js";
import { findLetter } from "./letter.js";

/** One `all` takes so many; a second takes the next. */
const BATCH = 200;

export async function retryLetter(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  context.need("operator");
  const { id } = context.options;
  if (typeof id === "string" && id.trim().toLowerCase() === "all") return retryAll(deps, context);
  const letter = await findLetter(deps, id);
  if (letter.kind === "inbox") {
    if (await deps.revive(letter.row.id))
      return answer({
        text: [`${code(`m${letter.row.id}`)} is handled again.`],
        data: { retried: [`m${letter.row.id}`] },
      });
    throw notDead(`m${letter.row.id}`, letter.row.status);
  }
  const { delivery } = letter;
  if (delivery.status === "held")
    throw new HookgateError({
      code: "HELD",
      message: `${delivery.id} is held, not dead${delivery.reason ? `: ${delivery.reason}` : ""}.`,
      hint: `Look at it with /outbox show ${delivery.id}, then decide with /outbox release.`,
    });
  if (delivery.status === "dead" && (await deps.release(delivery.id, false)))
    return answer({ text: [`${code(delivery.id)} is sent again.`], data: { retried: [delivery.id] } });
  throw notDead(delivery.id, delivery.status);
}

async function retryAll(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const [deliveries, rows] = await Promise.all([
    deps.store.outbox.list({ status: "dead", limit: BATCH }),
    deps.store.inbox.list({ status: "dead", limit: BATCH }),
  ]);
  const retried: string[] = [];
  // Oldest first: what was said first goes out first.
  for (const { id } of [...deliveries].sort((a, b) => a.seq - b.seq)) {
    context.signal.throwIfAborted();
    if (await deps.release(id, false)) retried.push(id);
  }
  for (const { id } of [...rows].sort((a, b) => a.id - b.id)) {
    context.signal.throwIfAborted();
    if (await deps.revive(id)) retried.push(`m${id}`);
  }
  const isPartial = deliveries.length === BATCH || rows.length === BATCH;
  return answer({
    text: [
      retried.length === 0
        ? "There is nothing dead to try again."
        : `${count(retried.length, "message")} on the way again.${isPartial ? " There may be more: say it once more." : ""}`,
    ],
    data: { retried },
  });
}

function notDead(id: string, status: string): HookgateError {
  return new HookgateError({
    code: "NOT_DEAD",
    message: `${id} is ${status}; only a dead letter can be tried again.`,
    hint: "/outbox list shows what waits for an operator.",
  });
}
