/** `/oncall who [rota]`: who is on call now. */

import type { RotaStep, RotaView } from "../src/alerts/rota/on-call.js";
import type { CommandAnswer, CommandContext } from "../src/gateway/commands.js";
import { needAlerts } from "./alerts/need.js";
import { answer, notFound } from "./answer.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { plain } from "./show/text.js";

export const oncall = defineCommand({
  name: "oncall",
  group: "alerts",
  summary: "Who is on call, until when, and who is next",
  role: "viewer",
  actions: { who: { summary: "Who is on call, and until when", run: who } },
  // `/oncall support` asks for that rota.
  yields: true,
  options: [{ name: "rota", summary: "Which rota; all when left out", type: "string", complete: "rotas" }],
});

async function who(deps: CommandDeps, { options }: CommandContext): Promise<CommandAnswer> {
  const all = await needAlerts(deps).onCall();
  const asked = all.filter(({ rota }) => options.rota === undefined || rota === options.rota);
  if (options.rota !== undefined && asked.length === 0)
    throw notFound(
      "rota",
      String(options.rota),
      all.map(({ rota }) => rota),
      "Rotas are configured under `alerts.rotas`.",
      "rota",
    );
  return answer({
    text: [
      asked.length === 0
        ? "There is no rota. Rotas are configured under `alerts.rotas`."
        : asked.map(lineOf).join("\n"),
    ],
    data: { rotas: asked.map(({ person, ...one }) => ({ ...one, person: person ?? null })) },
  });
}

/** `**support**: Ann until Mon; then Ben. ⚠ No one is on call from …`. */
function lineOf(view: RotaView): string {
  const { rota, person, until, next, gaps } = view;
  const who = person === undefined ? "⚠ no one is on call" : plain(person);
  const then =
    next === undefined ? "" : `; next: ${plain(next.person)}${next.at === until ? "" : ` from ${time(next.at)}`}`;
  // The first gap is the present one where no person is on call now.
  const coming = person === undefined ? gaps.slice(1) : gaps;
  const holes = coming.map(({ from, to }) => `${time(from)}${to === undefined ? " on" : ` to ${time(to)}`}`);
  return [
    `**${plain(rota)}**: ${who}${until === undefined ? "" : `, until ${time(until)}`}${then}`,
    ...unreachedLines(view),
    ...standInLines(view),
    ...(holes.length === 0 ? [] : [`⚠ No one is on call: ${holes.join("; ")}`]),
  ].join("\n");
}

function unreachedLines({ person, unreached }: RotaView): string[] {
  if (unreached === undefined) return [];
  const steps = stepsText(unreached);
  return person === undefined
    ? [
        `⚠ Escalations notify no one now (${steps}): add people to the rota, and their accounts under \`alerts.people\`.`,
      ]
    : [...new Set(unreached.map(({ why }) => why))].map((why) => {
        const some = unreached.filter((one) => one.why === why);
        return `⚠ Escalations do not reach ${plain(person)} (${stepsText(some)}): ${plain(why, 300)}.`;
      });
}

/** One line for each person. */
function standInLines({ standIns = [] }: RotaView): string[] {
  const byPerson = new Map<string, typeof standIns>();
  for (const one of standIns) {
    const key = `${one.person} ${one.isInstead ? "instead" : "as well"}`;
    byPerson.set(key, [...(byPerson.get(key) ?? []), one]);
  }
  return [...byPerson].map(([key, steps]) => `Escalations notify ${plain(key)} (${stepsText(steps)}).`);
}

const stepsText = (steps: readonly RotaStep[]) =>
  steps.map(({ route, step }) => `${plain(route)}, step ${step}`).join("; ");

const time = (at: number) => `<t:${Math.floor(at / 1000)}:f>`;
