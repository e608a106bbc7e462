/** `/oncall who [rota]`: who is on call now. */
import type { CommandSpec } from "../src/domain/command.js";
import type { Command } from "../src/gateway/commands.js";
import { needAlerts } from "./alerts/need.js";
import { answer, notFound } from "./answer.js";
import type { CommandDeps } from "./deps.js";
import { plain } from "./text.js";

export const oncallSpec: CommandSpec = {
  name: "oncall",
  summary: "Who is on call, and until when",
  role: "viewer",
  options: [
    { name: "action", summary: "who", type: "string", choices: ["who"] },
    { name: "rota", summary: "Which rota; all when left out", type: "string", complete: "rotas" },
  ],
};

export function oncall(deps: CommandDeps): Command {
  return {
    ...oncallSpec,
    async run({ options }) {
      const all = needAlerts(deps).onCall();
      const asked = all.filter(({ rota }) => options.rota === undefined || rota === options.rota);
      if (options.rota !== undefined && asked.length === 0)
        throw notFound(
          "rota",
          String(options.rota),
          all.map(({ rota }) => rota),
          "They stand under `alerts.rotas` in the configuration.",
          "rota",
        );
      return answer({
        text: [
          asked.length === 0
            ? "There is no rota. They stand under `alerts.rotas` in the configuration."
            : asked
                .map(
                  ({ rota, person, until }) =>
                    `**${plain(rota)}**: ${person === undefined ? "nobody" : plain(person)}${until === undefined ? "" : `, until <t:${Math.floor(until / 1000)}:f>`}`,
                )
                .join("\n"),
        ],
        data: {
          rotas: asked.map(({ rota, person, until }) => ({
            rota,
            person: person ?? null,
            ...(until === undefined ? {} : { until }),
          })),
        },
      });
    },
  };
}
