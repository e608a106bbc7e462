/** `/outbox purge waiting|ID [chat older reason] [yes]`: ends what waits for its turn, such as a flood. It stays in the outbox as cancelled. */
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { code, count } from "../text.js";
import { conversationText, operatorName } from "../who.js";
import type { Chosen } from "./filter.js";

/** How many are cancelled at a time: one commit serves them all, and other work has its turn in between. */
const AT_A_TIME = 100;

export async function withdrawWaiting(
  deps: CommandDeps,
  context: CommandContext,
  { line, words, ...chosen }: Chosen,
): Promise<CommandAnswer> {
  const waiting = (await deps.store.outbox.letters(["waiting"], chosen)).map(({ id }) => id);
  if (waiting.length === 0) return answer({ text: [`Nothing is waiting${words}.`], data: { withdrawn: 0 } });
  if (context.options.yes !== true)
    return answer({
      text: [
        `Cancel ${count(waiting.length, "message")} that ${waiting.length === 1 ? "waits" : "wait"}${words}? They will not be sent. \`yes=true\` cancels without asking.`,
      ],
      data: { withdrawn: 0, wouldWithdraw: waiting.length, what: "waiting" },
      outcome: "refused",
      buttons: [
        [
          commandButton(
            `Cancel ${waiting.length.toLocaleString("en-US")}`,
            `/outbox purge waiting${line} yes=true`,
            "danger",
          ),
          commandButton("Show them", `/outbox list waiting${line}`),
        ],
      ],
    });
  const withdrawn = await withdrawAll(deps, context, waiting);
  return answer({ text: [withdrawnText(withdrawn, waiting.length)], data: { withdrawn } });
}

export async function withdrawOne(deps: CommandDeps, context: CommandContext, id: string, conversation: string) {
  if (context.options.yes === true) {
    const withdrawn = await withdrawAll(deps, context, [id]);
    return answer({ text: [withdrawnText(withdrawn, 1)], data: { withdrawn } });
  }
  return answer({
    text: [
      `Cancel ${code(id)} to ${conversationText(deps, conversation)}? It waits for its turn, and will not be sent. \`yes=true\` cancels without asking.`,
    ],
    data: { withdrawn: 0, wouldWithdraw: 1, what: id },
    outcome: "refused",
    buttons: [
      [
        commandButton("Cancel it", `/outbox purge ${id} yes=true`, "danger"),
        commandButton("Show it", `/outbox show ${id}`),
      ],
    ],
  });
}

async function withdrawAll(deps: CommandDeps, { operator, signal }: CommandContext, ids: readonly string[]) {
  const reason = `withdrawn by ${operatorName(operator)}`;
  let withdrawn = 0;
  for (let at = 0; at < ids.length; at += AT_A_TIME) {
    signal.throwIfAborted();
    const some = await Promise.all(ids.slice(at, at + AT_A_TIME).map((id) => deps.withdraw(id, reason)));
    withdrawn += some.filter(Boolean).length;
  }
  return withdrawn;
}

function withdrawnText(withdrawn: number, asked: number): string {
  const late = asked - withdrawn;
  const sent = late === 0 ? "" : ` ${count(late, "message")} had been sent, or was being sent.`;
  return `${count(withdrawn, "message")} cancelled; \`/outbox list cancelled\` shows what is kept of them.${sent}`;
}
