/** `hookgate doctor`: checks everything that a start needs and the report of a running gateway, and gives remedies. */

import { splitProblems } from "../app/problems/problems.js";
import { readEnvironment } from "../config/env.js";
import { brokenPlatform, formatProblem, loadConfig } from "../config/load.js";
import type { Finding } from "./doctor/finding.js";
import { checkLive } from "./doctor/live.js";
import { checkMachine } from "./doctor/machine.js";
import { checkPlatforms } from "./doctor/platforms.js";
import { examine } from "./examine.js";
import { EXIT, type ExitCode } from "./exit.js";
import { printJson, type Terminal } from "./terminal.js";

const SIGNS = { ok: "✓", warning: "!", bad: "✗" } as const satisfies Record<Finding["state"], string>;

export async function doctor({ path, json }: { path?: string; json: boolean }, terminal: Terminal): Promise<ExitCode> {
  const loaded = loadConfig(path === undefined ? {} : { path });
  const { config, file } = loaded;
  const { broken: problems, warned } = splitProblems(await examine(loaded));
  const { env } = readEnvironment();
  const findings: Finding[] = [
    problems.length === 0
      ? { name: "configuration", state: "ok", detail: file ?? "no hookgate.yaml: the defaults hold" }
      : {
          name: "configuration",
          state: "bad",
          detail: problems.map(formatProblem).join("\n"),
          hint: "Fix it; `npx hookgate check` shows the same.",
        },
    ...(warned.length === 0
      ? []
      : [
          {
            name: "configuration",
            state: "warning" as const,
            detail: warned.map(formatProblem).join("\n"),
            hint: "It works as it is.",
          },
        ]),
    ...(env ? checkMachine(env.DATABASE_URL, file) : []),
    ...(env && config ? await checkPlatforms(config, env, (platform) => brokenPlatform(platform, problems)) : []),
    ...(env ? await checkLive() : []),
  ];
  const isBad = findings.some(({ state }) => state === "bad");
  if (json) printJson(terminal, { ok: !isBad, findings });
  else print(findings, terminal);
  if (problems.length > 0) return EXIT.usage;
  return isBad ? EXIT.failed : EXIT.done;
}

function print(findings: readonly Finding[], terminal: Terminal): void {
  const width = Math.max(...findings.map(({ name }) => name.length));
  const indent = `\n${" ".repeat(width + 4)}`;
  for (const { name, state, detail, hint } of findings)
    terminal.out(
      `${SIGNS[state]} ${name.padEnd(width)}  ${detail.replaceAll("\n", indent)}${hint ? `${indent}→ ${hint}` : ""}`,
    );
}
