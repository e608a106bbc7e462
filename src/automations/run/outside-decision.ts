/**
 * Changes that a model or another machine may not decide. Its answer may be that of an attacker, who wrote the text that it reads: it may
 * change words, and may not read files of this machine, write command lines, mention more people, send the message elsewhere, or choose
 * what runs.
 */
import { isDeepStrictEqual } from "node:util";
import type { Attachment, Button, OutboundMessage } from "../../domain/chat/message.js";
import { type Fields, withPatch } from "../../hooks/results.js";
import { isWebAddress } from "../../lib/web-address.js";

type Check = (after: unknown, before: unknown) => string | undefined;

/** Undefined when the change is allowed. `payload`: the input of the hook; `patch`: the changes of its handler. */
export function outsideProblem(point: string, payload: unknown, patch: Fields): string | undefined {
  const before = payload as Fields;
  const after = withPatch(before, patch);
  for (const [path, check] of CHECKS[point] ?? []) {
    const problem = check(valueAt(after, path), valueAt(before, path));
    if (problem !== undefined)
      return `a model or another machine may not ${problem}: let a plugin, a program or a module decide that`;
  }
  return undefined;
}

const same =
  (problem: string): Check =>
  (after, before) =>
    isDeepStrictEqual(after ?? undefined, before ?? undefined) ? undefined : problem;

const CHECKS: Readonly<Record<string, readonly (readonly [path: readonly string[], check: Check])[]>> = {
  message_sending: [
    [["message", "attachments"], attachmentsProblem],
    [["message", "buttons"], buttonsProblem],
    [["message", "mentions"], mentionsProblem],
    [["message", "threadId"], same("choose the thread of a message (message.threadId)")],
    [["message", "replyToId"], same("choose what a message replies to (message.replyToId)")],
    [["message", "prompt"], same("ask for the fields of a form (message.prompt)")],
    [["message", "showAddresses"], same("choose whether addresses are written out (message.showAddresses)")],
  ],
  "task:create": [
    [["assignTo"], same("choose who does a task (assignTo)")],
    [["expectations"], expectationsProblem],
    [
      ["needsApproval"],
      (after, before) =>
        before === true && after !== true ? "take away the approval of a task (needsApproval)" : undefined,
    ],
  ],
  "mission:execute": [[["mission", "plan"], same("choose the plan of a mission (mission.plan)")]],
  "assessment:run": [[["task", "expectations"], expectationsProblem]],
};

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Fields | undefined)?.[key], value);
}

// The dispatch checks the form of the given value; a value of another type is no list here.
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function attachmentsProblem(after: unknown, before: unknown): string | undefined {
  const known = new Set(list(before).map((one) => (one as Attachment).url));
  const isFromElsewhere = (one: unknown) => {
    const url = (one as Partial<Attachment> | null)?.url;
    return typeof url === "string" && (known.has(url) || isWebAddress(url) || /^data:/i.test(url));
  };
  return list(after).every(isFromElsewhere)
    ? undefined
    : "attach a file of this machine (message.attachments: expected an address with http:, https: or data:)";
}

function buttonsProblem(after: unknown, before: unknown): string | undefined {
  const buttonsIn = (rows: unknown) => list(rows).flatMap((row) => list(row) as Partial<Button>[]);
  const known = buttonsIn(before);
  const isKnown = ({ action, token }: Partial<Button>) =>
    known.some((one) => isDeepStrictEqual([one.action, one.token], [action, token]));
  const isLink = ({ action, token }: Partial<Button>) => action === undefined && token === undefined;
  return buttonsIn(after).every((one) => one !== null && (isLink(one) || isKnown(one)))
    ? undefined
    : "add a button that does something (message.buttons: links may be added)";
}

function mentionsProblem(after: unknown, before: unknown): string | undefined {
  const { users, roles, everyone }: NonNullable<OutboundMessage["mentions"]> = after ?? {};
  const known: NonNullable<OutboundMessage["mentions"]> = before ?? {};
  const isMore =
    list(users).some((one) => !list(known.users).includes(one)) ||
    list(roles).some((one) => !list(known.roles).includes(one)) ||
    (everyone === true && known.everyone !== true);
  return isMore ? "mention more people (message.mentions)" : undefined;
}

/** The rule is that of chat: only those who write files name the program, file or address that is checked. */
function expectationsProblem(after: unknown, before: unknown): string | undefined {
  const known = list(before);
  const isHarmless = (one: unknown) =>
    typeof one === "object" && one !== null && ("when" in one || "judge" in one) && !NAMING.some((key) => key in one);
  return list(after).every((one) => isHarmless(one) || known.some((other) => isDeepStrictEqual(one, other)))
    ? undefined
    : "add an expectation that runs a program, reads a file or sends a request (`when` and `judge` may be added)";
}

const NAMING = ["command", "sh", "file", "http"];
