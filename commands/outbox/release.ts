/** `/outbox release ID [confirmed]`: an operator decides on a held delivery. */
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import { answer, badUsage, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { code } from "../text.js";
import { findLetter, isAmbiguous } from "./letter.js";

export async function releaseDelivery(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  context.need("operator");
  const letter = await findLetter(deps, context.options.id);
  if (letter.kind === "inbox") throw badUsage("An inbox message is not held; /outbox retry handles a dead one again.");
  const { delivery } = letter;
  const { id } = delivery;
  if (delivery.status !== "held" && delivery.status !== "dead")
    throw new HookgateError({
      code: "NOT_HELD",
      message: `${id} is ${delivery.status}; there is nothing to release.`,
      hint: "/outbox list held shows what is held.",
    });

  const { confirmed } = context.options;
  const ambiguous = isAmbiguous(delivery);
  if (confirmed === true && !ambiguous)
    throw badUsage(`${id} was certainly not sent, so it cannot be confirmed.`, `/outbox release ${id} sends it.`);
  // Only a person can see whether it arrived, and only a clear word may risk a second copy.
  if (ambiguous && typeof confirmed !== "boolean")
    return answer({
      text: [
        `${code(id)} **may have arrived**: it was sent and no answer came. Look in ${code(delivery.conversation)}, then say which it is.`,
      ],
      data: { id, ambiguous: true, released: false },
      outcome: "refused",
      buttons: [
        [
          commandButton("It arrived", `/outbox release ${id} confirmed=true`, "success"),
          commandButton("It is not there: send it", `/outbox release ${id} confirmed=false`, "danger"),
        ],
      ],
    });

  if (!(await deps.release(id, confirmed === true)))
    throw new HookgateError({
      code: "NOT_HELD",
      message: `${id} was decided upon meanwhile.`,
      hint: `/outbox show ${id} tells.`,
    });
  return answer({
    text: [
      confirmed === true
        ? `${code(id)} counts as sent; what is left of it follows.`
        : `${code(id)} is on its way.${delivery.frozen ? "" : " It goes through the hooks first."}`,
    ],
    data: { id, ambiguous, released: true, confirmed: confirmed === true },
  });
}
