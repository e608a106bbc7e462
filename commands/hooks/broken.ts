/** `/hooks broken`: definitions that are not in force, with everything that is wrong, and triggers that cannot fire. */
import type { BrokenHook } from "../../src/automations/desk.js";
import type { CommandAnswer } from "../../src/gateway/commands.js";
import { answer, commandButton } from "../answer.js";
import { placeText } from "../automations/describe.js";
import type { CommandDeps } from "../deps.js";
import { code, count, plain } from "../text.js";

/** So that the answer fits one message; `--json` has them all. */
const MAX_SHOWN = 10;

export function showBroken({ automations }: CommandDeps): CommandAnswer {
  const broken = automations?.broken() ?? [];
  const stuck = automations?.problems() ?? [];
  const data = { broken: broken.map(brokenData), stuck };
  if (broken.length === 0 && stuck.length === 0)
    return answer({
      text: ["No configured hook is broken."],
      data,
      buttons: [[commandButton("Hooks", "/hooks list")]],
    });
  return answer({
    text: [
      broken.length > 0 && `**${count(broken.length, "hook")} not in force**`,
      ...broken.slice(0, MAX_SHOWN).map(brokenText),
      broken.length > MAX_SHOWN && `… and ${broken.length - MAX_SHOWN} more`,
      stuck.length > 0 && `**${count(stuck.length, "trigger")} cannot fire at the moment**`,
      stuck
        .slice(0, MAX_SHOWN)
        .map(({ hookId, message }) => `${code(hookId)}: ${plain(message)}`)
        .join("\n"),
    ],
    data,
  });
}

export function brokenText({ id, place, problems }: BrokenHook): string {
  const lines = problems.slice(0, MAX_SHOWN).map((problem) => {
    const where = problem.path === "" ? "" : `${code(problem.path)}: `;
    return `- ${where}${plain(problem.message)} (${plain(placeText(problem))})`;
  });
  return [`${code(id)} at ${plain(placeText(place))}`, ...lines].join("\n");
}

export function brokenData({ id, place, problems }: BrokenHook) {
  return {
    id,
    place: placeText(place),
    problems: problems.map((problem) => ({ path: problem.path, message: problem.message, place: placeText(problem) })),
  };
}
