/**
 * A task as a message: its facts, its state, its running work, and the buttons for the next actions. Texts come from people, programs and
 * other systems: they are shown as they are, never as Markdown.
 */
import type { Role } from "../domain/chat/identity.js";
import type { Button, Card, OutboundMessage } from "../domain/chat/message.js";
import {
  isEnded,
  saidElsewhere,
  type Task,
  type TaskStatus,
  undeliveredCard,
  undeliveredWords,
} from "../domain/orchestrator/task.js";
import { lineFor } from "../domain/orchestrator/task-press.js";
import { plainLine, quotedLines, saidText } from "../lib/markdown/escape.js";
import { formatDuration } from "../lib/time/duration.js";
import type { Progress } from "./runners/runner.js";

export interface CardView {
  task: Task;
  /** The progress of a run that is under way. */
  progress?: Progress | undefined;
  /** The card of its assignee. */
  isPersons: boolean;
  /** Every reader of this card may read the task's output. */
  isOpen: boolean;
  /** The role that may read the task's output. */
  roleNeeded: Role;
  /** Output is shown here, and not in the card's thread. */
  hasOutput: boolean;
  now: number;
  /** The name that people use for `platform:id`. */
  nameOf(ref: string): string;
}

const SIGNS: Record<TaskStatus, string> = {
  draft: "📝",
  pending: "🕓",
  assigned: "📨",
  in_progress: "▶️",
  review: "🔎",
  awaiting_approval: "✋",
  blocked: "⛔",
  paused: "⏸️",
  done: "✅",
  failed: "❌",
  cancelled: "🚫",
};
export const signOf = (status: TaskStatus): string => SIGNS[status];
const TONES: Partial<Record<TaskStatus, Card["tone"]>> = {
  done: "good",
  failed: "bad",
  blocked: "warning",
  awaiting_approval: "warning",
};
const LONGEST_OUTPUT = 1_200;
const LONGEST_TEXT = 800;
const LONGEST_NAME = 64;

export function cardOf(view: CardView): OutboundMessage {
  const { task } = view;
  const tone = TONES[task.status];
  const buttons = buttonsOf(view);
  return {
    text: "",
    card: {
      title: `${SIGNS[task.status]} ${task.title}`,
      text: [description(task), ...(view.isOpen ? progressParts(view) : [hiddenProgress(view)]), note(view)]
        .filter((part) => part !== "")
        .join("\n\n"),
      tone,
      fields: fieldsOf(view),
      footer: task.id,
    },
    buttons: buttons.length === 0 ? undefined : [buttons],
  };
}

/** The card in the chat of the former assignee. It never changes, so that nothing that follows is read there. */
export function formerCardOf({ id, title }: Task): OutboundMessage {
  const text = "This task was given to another person or runner. This card does not change any more.";
  return { text: "", card: { title: `↪️ ${title}`, text, footer: id } };
}

function description({ description: text, status }: Task): string {
  return isEnded(status) || text.trim() === "" ? "" : quotedLines(text, LONGEST_TEXT);
}

const progressParts = (view: CardView) => [lacking(view.task), bar(view), view.hasOutput ? output(view) : ""];

/** The hint about hidden output: the role that may read it, and the command. */
function hiddenProgress({ task: { id, attempt }, isPersons, roleNeeded }: CardView): string {
  if (isPersons || attempt === 0) return "";
  return saidElsewhere(id, roleNeeded);
}

/** The feedback of the check, for the next attempt. */
function lacking({ feedback, status }: Task): string {
  if (feedback === undefined || feedback === "" || isEnded(status) || status === "review") return "";
  return `↩️ To fix: ${saidText(feedback, LONGEST_TEXT)}`;
}

const CELLS = 12;

/** `▰▰▰▰▱▱▱▱▱▱▱▱ 33 % · packing` */
function bar({ task, progress }: CardView): string {
  return task.status === "in_progress" ? progressBar(progress) : "";
}

export function progressBar(progress: Progress | undefined): string {
  if (progress === undefined) return "";
  const { percent, now } = progress;
  const full = percent === undefined ? undefined : Math.round((percent / 100) * CELLS);
  const parts = [
    ...(full === undefined ? [] : [`${"▰".repeat(full)}${"▱".repeat(CELLS - full)} ${Math.round(percent ?? 0)} %`]),
    ...(now === undefined ? [] : [plainLine(now, 200)]),
  ];
  return parts.join(" · ");
}

function output({ task, progress }: CardView): string {
  const running = task.status === "in_progress" ? progress?.output : undefined;
  const text = running ?? (isEnded(task.status) || task.status === "review" ? task.result?.output : undefined);
  return outputBlock(text ?? "", LONGEST_OUTPUT);
}

/** The end of the output, in a code block that the output cannot close. */
export function outputBlock(output: string, longest: number): string {
  const text = output.trim();
  if (text === "") return "";
  const last = text.length > longest ? `…${text.slice(-longest)}` : text;
  return `\`\`\`\n${last.replaceAll("```", "'''")}\n\`\`\``;
}

/** The author is kept as `web:3 (Otto)`, or as the account alone. */
function note({ task: { lastNote }, nameOf }: CardView): string {
  if (lastNote === undefined) return "";
  const by = /^\S+ \((.+)\)$/s.exec(lastNote.by)?.[1] ?? nameOf(lastNote.by);
  return `💬 ${plainLine(by, LONGEST_NAME)}: ${saidText(lastNote.text, LONGEST_TEXT)}`;
}

function fieldsOf({ task, isPersons, isOpen, now, nameOf }: CardView): NonNullable<Card["fields"]> {
  const { status, reason, owner, assignTo, attempt, retries, deadline, startedAt, endedAt, retryPolicy } = task;
  const field = (name: string, value: string | undefined, inline = true) =>
    value === undefined || value === "" ? [] : [{ name, value, inline }];
  const tries =
    retryPolicy.maxRetries > 0 || attempt > 1
      ? `${retries + 1} of ${retryPolicy.maxRetries + 1}${attempt > retries + 1 ? `, start ${attempt}` : ""}`
      : undefined;
  return [
    ...field("State", status.replaceAll("_", " ")),
    ...field("Who", plainLine(nameOf((owner ?? assignTo).replace(/^person:/, "")), LONGEST_NAME)),
    ...field("Attempt", attempt === 0 ? undefined : tries),
    ...field(
      "Took",
      endedAt === undefined || startedAt === undefined ? undefined : formatDuration(endedAt - startedAt),
    ),
    ...field("Due", deadline === undefined || isEnded(status) ? undefined : dueText(deadline, now)),
    ...field("Not delivered", isPersons ? undefined : undeliveredText(task), false),
    ...field(
      "Why",
      reason === undefined || !isOpen ? undefined : plainLine(withNames(reason, nameOf), LONGEST_TEXT),
      false,
    ),
  ];
}

/** Shows readers of this card that the assignee's card has not arrived. */
function undeliveredText(task: Task): string | undefined {
  const card = undeliveredCard(task);
  return card && `⚠️ ${undeliveredWords(card)} \`/task assign ${task.id} WHO\` gives it to another person.`;
}

/** `given to person:web:1` names the person. */
function withNames(reason: string, nameOf: CardView["nameOf"]): string {
  return reason.replace(/\bperson:([\w-]+:\w+)/g, (_, ref: string) => nameOf(ref));
}

/** Each platform shows the moment as its readers know it; a length of time would be wrong a minute later. */
function dueText(deadline: number, now: number): string {
  const at = `<t:${Math.floor(deadline / 1000)}:f>`;
  return deadline > now ? at : `⚠️ overdue since ${at}`;
}

function buttonsOf({ task, isPersons }: CardView): Button[] {
  const { status } = task;
  const button = (label: string, action: string, style: Button["style"] = "secondary"): Button => ({
    label,
    style,
    action: { kind: "command", line: lineFor(action, task) },
  });
  const asking = (label: string, action: string, question: string): Button => ({
    label,
    style: "secondary",
    action: {
      kind: "command",
      line: lineFor(action, task),
      form: { title: label, fields: [{ id: "text", label: question, long: true, required: true }] },
    },
  });
  switch (status) {
    case "draft":
      return [button("Start", "start", "primary"), button("Cancel", "cancel")];
    case "awaiting_approval":
      return [button("Approve", "approve", "success"), button("Refuse", "refuse", "danger")];
    case "assigned":
    case "in_progress":
      if (!isPersons) return [button("Cancel", "cancel", "danger")];
      return [
        ...(status === "assigned" ? [button("Start", "start", "primary")] : []),
        button("Done", "done", "success"),
        asking("Decline", "decline", "Why?"),
        asking("Ask", "ask", "What do you need to know?"),
      ];
    case "review":
      return [button("Accept", "accept", "success"), button("Again", "retry"), button("Refuse", "refuse", "danger")];
    case "blocked":
    case "failed":
      return [button("Retry", "retry", "primary"), ...(status === "blocked" ? [button("Cancel", "cancel")] : [])];
    case "paused":
      return [button("Resume", "resume", "primary"), button("Cancel", "cancel")];
    case "pending":
      return [button("Cancel", "cancel")];
    default:
      return [];
  }
}
