/** `/silence add|list|expire`: no notifications of matching alerts for a while. */

import type { MaintenanceWindow } from "../src/alerts/silences.js";
import type { Silence } from "../src/domain/alerts/alert.js";
import type { CommandAnswer, CommandContext } from "../src/gateway/commands.js";
import { formatDuration } from "../src/lib/time/duration.js";
import { nearest } from "../src/lib/validation/nearest.js";
import { actorOf, needAlerts } from "./alerts/need.js";
import { checkSilenceLength } from "./alerts/silence-length.js";
import { answer, badUsage, commandButton, missing, notFound } from "./answer.js";
import { defineCommand } from "./define.js";
import type { AlertDesk, CommandDeps } from "./deps.js";
import { clip, code, count, plain } from "./show/text.js";
import { momentOf, readWhenAndWhy } from "./show/when.js";

const SHOWN_WINDOWS = 10;
const LABELS =
  "Labels of every alert: policy, severity, source, entity, id; `/alerts show ID` names the others. Such as `/silence add policy=replies severity!=critical 2h moving the queue`.";

export const silence = defineCommand({
  name: "silence",
  group: "alerts",
  summary: "Keeps alerts that match quiet for a while",
  role: "viewer",
  actions: {
    list: { summary: "Silences in force", run: (deps) => listSilences(needAlerts(deps), deps.clock.now()) },
    add: {
      summary: "Keep matching alerts quiet for a while",
      role: "operator",
      run: (deps, context) => add(deps, needAlerts(deps), context),
    },
    expire: {
      summary: "End a silence now",
      role: "operator",
      run: (deps, context) => expire(needAlerts(deps), context),
    },
  },
  options: [
    {
      name: "matchers",
      summary: "add: which alerts, such as policy=replies severity!=critical; expire: the id of the silence",
      type: "string",
      neededFor: ["add"],
      completeFor: { expire: "silences" },
    },
    { name: "for", summary: "add: how long, such as 2h", type: "string" },
    { name: "comment", summary: "add: the reason", type: "string", rest: true },
  ],
});

async function add(deps: CommandDeps, desk: AlertDesk, context: CommandContext): Promise<CommandAnswer> {
  const { options } = context;
  const now = deps.clock.now();
  if (typeof options.matchers !== "string")
    throw badUsage("Missing: what to silence.", 'Such as `/silence add "policy=replies" 2h moving the queue`.');
  const { matchers, by, reason } = withoutQuotes(splitMatchers(options.matchers), options, desk);
  const [problem] = matchers.flatMap((one) => desk.silences.problemOf(one) ?? []);
  if (problem !== undefined) throw badUsage(`${clip(problem, 200)}.`, LABELS);
  if (by === undefined)
    throw badUsage("Missing: for how long.", `Such as \`/silence add ${matchers.join(" ")} 2h why\`.`);
  const { when, reason: comment } = readWhenAndWhy({ by, reason }, now, desk.timezone());
  const forMs = momentOf(when, now, desk) - now;
  checkSilenceLength(forMs);
  if (comment === undefined)
    throw badUsage("Missing: a comment with the reason.", `Write it after the time: \`… ${by} moving the queue\`.`);
  const added = await desk.silences.add(matchers, forMs, comment, actorOf(context));
  return answer({
    text: [
      `✓ Silenced for ${formatDuration(forMs)}: ${added.matchers.map(code).join(" ")}`,
      ...(await Promise.all(matchers.map((matcher) => warningOf(matcher, deps, desk)))),
      code(added.id),
    ],
    data: { silence: dataOf(added, added.from) },
    buttons: [[commandButton("Expire", `/silence expire ${added.id}`)]],
  });
}

/** `policy=replies severity!=critical 2h moving the queue`: matchers in a row are read as they are meant. */
function withoutQuotes(
  first: string[],
  { for: by, comment }: CommandContext["options"],
  { silences }: Pick<AlertDesk, "silences">,
): { matchers: string[]; by: string | undefined; reason: string | undefined } {
  const matchers = [...first];
  const words = [by, comment].flatMap((part) => (typeof part === "string" ? part.trim().split(/\s+/) : []));
  for (let [word] = words; word !== undefined && silences.problemOf(word) === undefined; [word] = words)
    matchers.push(...splitMatchers(words.shift() ?? ""));
  const [length, ...why] = words;
  return { matchers, by: length, reason: why.length === 0 ? undefined : why.join(" ") };
}

/** A silence may be for alerts to come, so a value that nothing has is no mistake for sure. */
async function warningOf(matcher: string, { sla }: CommandDeps, desk: AlertDesk): Promise<string | undefined> {
  const label = await desk.silences.unknownLabel(matcher);
  if (label !== undefined) {
    const near = nearest(label.name, label.known);
    const meant = near === undefined ? ` ${LABELS}` : ` Did you mean ${code(near)}?`;
    return `⚠ No alert so far has the label ${code(label.name)}.${meant}`;
  }
  if (!(await desk.silences.isUnknown(matcher))) return undefined;
  const policy = desk.silences.policyOf(matcher);
  if (policy === undefined) return `⚠ No alert so far matches ${code(matcher)}. ${LABELS}`;
  const known = (await sla?.policies())?.map(({ id }) => id) ?? [];
  const near = nearest(policy, known);
  const hint =
    near !== undefined
      ? ` Did you mean ${code(near)}?`
      : known.length > 0
        ? ` There is ${known.slice(0, 12).map(code).join(", ")}.`
        : "";
  return `⚠ There is no policy ${code(policy)}, and no alert so far matches ${code(matcher)}.${hint}`;
}

async function expire(desk: AlertDesk, { options }: CommandContext): Promise<CommandAnswer> {
  const id = typeof options.matchers === "string" ? options.matchers.trim() : "";
  if (id === "") throw missing("which silence", "/silence list shows them.", "matchers");
  const expired = await desk.silences.expire(id);
  if (!expired)
    throw notFound(
      "silence",
      id,
      desk.silences.list().map((one) => one.id),
      "/silence list shows them.",
      "matchers",
    );
  return answer({ text: [`✓ ${code(id)} ended.`], data: { id, expired: true } });
}

function listSilences(desk: AlertDesk, now: number): CommandAnswer {
  const inForce = desk.silences.list().filter(({ until, endedAt }) => endedAt === undefined && until > now);
  const windows = desk.silences.maintenance();
  const isQuiet = windows.some(({ until }) => until !== undefined);
  return answer({
    text: [
      inForce.length === 0
        ? `**${isQuiet ? "No silence was added." : "Nothing is silenced."}** Such as \`/silence add policy=replies 2h moving the queue\` adds one.`
        : `**${count(inForce.length, "silence")} in force**`,
      inForce
        .map(
          ({ id, matchers, until, comment, by }) =>
            `- ${code(id)} ${matchers.map(code).join(" ")} for ${formatDuration(until - now)} more: ${plain(comment, 160)} (${plain(by.name, 60)})`,
        )
        .join("\n"),
      windows.length === 0 ? undefined : `**Maintenance windows** (${code("alerts.maintenance")} in hookgate.yaml)`,
      windows
        .slice(0, SHOWN_WINDOWS)
        .map(
          (window) => `- ${window.matchers.map(code).join(" ")} ${whenOf(window, now)}: ${plain(window.comment, 160)}`,
        )
        .join("\n"),
      windows.length > SHOWN_WINDOWS ? `… and ${windows.length - SHOWN_WINDOWS} more` : undefined,
    ],
    data: { silences: inForce.map((one) => dataOf(one, now)), maintenance: windows },
    buttons: [
      inForce.slice(0, 4).map(({ id }, index) => commandButton(`Expire ${index + 1}`, `/silence expire ${id}`)),
    ],
  });
}

const whenOf = ({ until, next }: MaintenanceWindow, now: number): string =>
  until === undefined ? `in ${formatDuration((next ?? now) - now)}` : `for ${formatDuration(until - now)} more`;

const dataOf = ({ id, matchers, from, until, comment, by, endedAt }: Silence, now: number) => ({
  id,
  matchers,
  from,
  until: endedAt ?? until,
  comment,
  by: by.id,
  inForce: endedAt === undefined && from <= now && now < until,
});

/** At spaces and commas, but not inside of quotes. */
function splitMatchers(text: string): string[] {
  return (text.match(/(?:"(?:[^"\\]|\\.)*"|[^\s,"])+/g) ?? []).filter((part) => part !== "");
}
