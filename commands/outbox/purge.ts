/** `/outbox purge ID|STATUS`: deletes what will not be sent. What is on its way, or was sent, is never deleted here. */
import type { DeliveryStatus } from "../../src/domain/store.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import { answer, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { code, count } from "../text.js";
import { findLetter } from "./letter.js";

const PURGEABLE = [
  "dead",
  "held",
  "suppressed",
  "cancelled",
  "superseded",
] as const satisfies readonly DeliveryStatus[];

export async function purgeOutbox(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  context.need("admin");
  const { id } = context.options;
  const asked = typeof id === "string" ? id.trim() : "";
  if (asked === "") return askWhat(deps);
  const status = PURGEABLE.find((one) => one === asked.toLowerCase());
  const purged = status ? await deps.store.outbox.purge({ status }) : await purgeOne(deps, asked);
  return answer({
    text: [purged === 0 ? `Nothing is ${code(asked)}.` : `${count(purged, "message")} deleted.`],
    data: { purged, what: asked },
  });
}

async function purgeOne(deps: CommandDeps, id: string): Promise<number> {
  const letter = await findLetter(deps, id);
  const status = letter.kind === "delivery" ? letter.delivery.status : letter.row.status;
  if (letter.kind === "inbox" || !PURGEABLE.some((one) => one === status))
    throw new HookgateError({
      code: "NOT_PURGEABLE",
      message: `${id} is ${letter.kind === "inbox" ? "an inbox message" : status} and is not deleted by hand.`,
      hint: `Only ${PURGEABLE.join(", ")} deliveries are; the rest goes with the retention.`,
    });
  return deps.store.outbox.purge({ ids: [letter.delivery.id] });
}

async function askWhat({ store }: CommandDeps): Promise<CommandAnswer> {
  const counts = await store.outbox.counts();
  const present = PURGEABLE.filter((status) => counts[status] > 0);
  return answer({
    text: [present.length === 0 ? "There is nothing to delete." : "Delete what? This cannot be undone."],
    data: { purged: 0, counts },
    buttons: [
      present.map((status) => commandButton(`${counts[status]} ${status}`, `/outbox purge ${status}`, "danger")),
    ],
  });
}
