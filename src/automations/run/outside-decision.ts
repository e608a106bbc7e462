/**
 * The changes that a model or another machine may decide. Its answer may be that of an attacker, who wrote the text that it reads: it may
 * change words, and nothing that is not named here. It neither reads files and addresses, writes command lines or sends the message
 * elsewhere, nor chooses what runs, when, and how it is checked.
 */
import { isDeepStrictEqual } from "node:util";
import type { Attachment, Button, OutboundMessage } from "../../domain/chat/message.js";
import { type Fields, withPatch } from "../../hooks/results.js";
import { isRecord } from "../../lib/record.js";

type Check = (after: unknown, before: unknown) => string | undefined;
interface Rules {
  readonly [field: string]: Check | Rules;
}

/** Undefined when the change is allowed. `payload`: the input of the hook; `patch`: the changes of its handler. */
export function outsideProblem(point: string, payload: unknown, patch: Fields): string | undefined {
  const rules = ALLOWED[point];
  // A plugin's own point: its payload says which fields may change.
  if (rules === undefined) return undefined;
  const before = payload as Fields;
  const problem = changeProblem(rules, before, withPatch(before, patch), "");
  if (problem === undefined) return undefined;
  return `a model or another machine may not ${problem}: let a plugin, a program or a module decide that`;
}

function changeProblem(rules: Rules, before: Fields, after: Fields, path: string): string | undefined {
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before[key] ?? undefined, after[key] ?? undefined];
    if (isDeepStrictEqual(was, is)) continue;
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    const unnamed = `change ${path}${key}`;
    let problem: string | undefined = unnamed;
    if (typeof rule === "function") problem = rule(is, was);
    else if (rule !== undefined && isRecord(was) && isRecord(is))
      problem = changeProblem(rule, was, is, `${path}${key}.`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const words: Check = () => undefined;
const onlyNew =
  (field: string): Check =>
  (_, before) =>
    before === undefined ? undefined : `change ${field}, which is set`;

const ALLOWED: Readonly<Record<string, Rules>> = {
  message_sending: {
    cancel: words,
    message: {
      text: words,
      format: words,
      card: words,
      silent: words,
      attachments: attachmentsProblem,
      buttons: buttonsProblem,
      mentions: mentionsProblem,
    },
  },
  "task:create": {
    title: words,
    description: words,
    priority: words,
    deadline: onlyNew("deadline"),
    needsApproval: (after) => (after === true ? undefined : "take away the approval of a task (needsApproval)"),
  },
  "task:complete": {},
  "task:fail": { reason: words },
  "mission:execute": { mission: { title: words, deadline: onlyNew("mission.deadline") } },
  "assessment:run": {},
  "assessment:complete": {
    passed: (after) => (after === false ? undefined : "let a task pass that failed its checks (passed)"),
    assessment: { feedback: words },
  },
};

// The dispatch checks the form of the given value; a value of another type is no list here.
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const NAME = /^[^\p{C}]{1,200}$/u;

function attachmentsProblem(after: unknown, before: unknown): string | undefined {
  const known = new Set(list(before).map((one) => (one as Attachment).url));
  const isAllowed = (one: unknown) => {
    const { url, filename } = (one ?? {}) as Partial<Attachment>;
    if (typeof url !== "string") return false;
    // Each known one once.
    return known.delete(url) || (/^data:/i.test(url) && typeof filename === "string" && NAME.test(filename));
  };
  return list(after).every(isAllowed)
    ? undefined
    : "attach what the gateway would read from a file or an address, or what has no plain name (message.attachments: expected data:, and a name of up to 200 characters)";
}

/** A label and its action belong together, and so do the choices of a card: they are what the person who presses agrees to. */
function buttonsProblem(after: unknown, before: unknown): string | undefined {
  const isLink = (one: Partial<Button> | null) => one !== null && one.action === undefined && one.token === undefined;
  const pressedIn = (rows: unknown) =>
    list(rows)
      .flatMap((row) => list(row) as (Partial<Button> | null)[])
      .filter((one) => !isLink(one));
  return isDeepStrictEqual(pressedIn(after), pressedIn(before))
    ? undefined
    : "add, change or take away a button that does something (message.buttons: links may change)";
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
