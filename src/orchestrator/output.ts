/**
 * The output of a program or an agent while it works: one message in the thread under its task's card, edited as more comes. Where there
 * are no threads under messages, the card shows it.
 */
import type { OutboundMessage } from "../domain/chat/message.js";
import type { Task } from "../domain/orchestrator/task.js";
import { outputBlock, progressBar, signOf } from "./card.js";
import type { OrchestratorDeps } from "./deps.js";
import type { Progress } from "./runners/runner.js";

/** The limit of tasks whose output place is remembered. */
const REMEMBERED = 2_000;
const LONGEST = 1_700;

export interface Output {
  /** True when the output is in the thread of this card, up to date. `later`: the card is not posted yet. */
  keep(task: Task, card: { id: string }, progress: Progress | undefined): Promise<boolean | "later">;
}

export function createOutput(chat: OrchestratorDeps["chat"]): Output {
  /** `none`: there is no thread; else the words that are there. */
  const known = new Map<string, { place: "none" } | { place: "thread"; words: string }>();

  function remember(taskId: string, what: { place: "none" } | { place: "thread"; words: string }): void {
    known.delete(taskId);
    known.set(taskId, what);
    if (known.size > REMEMBERED) known.delete(known.keys().next().value as string);
  }

  return {
    async keep(task, card, progress) {
      const before = known.get(task.id);
      if (before?.place === "none" || task.owner?.startsWith("person:")) return false;
      const id = `d_${task.id}_out`;
      const cause = { kind: "task" as const, id: task.id, depth: task.cause?.depth ?? 0 };
      const message = messageOf(task, progress);
      const words = message?.text ?? "";
      if (before !== undefined || (await chat.isThere(id))) {
        if (message !== undefined && before?.words !== words) await chat.edit(id, message, { cause });
        remember(task.id, { place: "thread", words });
        return true;
      }
      // Output of work that ended before anybody could follow it is read on the card.
      if (message === undefined || task.status !== "in_progress") return false;
      const thread = await chat.threadUnder(card.id, task.title);
      if (thread === "later") return thread;
      if (thread === "none") {
        remember(task.id, { place: "none" });
        return false;
      }
      await chat.send(thread, message, { cause, deliveryId: id });
      remember(task.id, { place: "thread", words });
      return true;
    },
  };
}

function messageOf(task: Task, progress: Progress | undefined): OutboundMessage | undefined {
  const text = task.status === "in_progress" ? progress?.output : task.result?.output;
  const block = outputBlock(text ?? "", LONGEST);
  if (block === "") return undefined;
  const attempt = task.attempt > 1 ? ` · attempt ${task.attempt}` : "";
  const bar = task.status === "in_progress" ? progressBar(progress) : "";
  const head = `${signOf(task.status)} ${task.status.replaceAll("_", " ")}${attempt}${bar === "" ? "" : ` · ${bar}`}`;
  return { text: `${head}\n\n${block}`, silent: true };
}
