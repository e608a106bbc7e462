/** A plugin, as text, that notes every call of the orchestration points and refuses what `rules.json` beside it says at that moment. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { jsonLines } from "../../support/lines.js";

export const POINTS = [
  "task:create",
  "task:spawn",
  "task:transition",
  "task:complete",
  "task:fail",
  "task:retry",
  "orchestrator:tick",
  "orchestrator:shutdown",
] as const;

export const GUARD_PLUGIN = `
import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
const folder = import.meta.dirname;
const rules = () => (existsSync(join(folder, "rules.json")) ? JSON.parse(readFileSync(join(folder, "rules.json"), "utf8")) : {});
const note = (hook, phase, context) => {
  // On a line of its own, also when a process was killed within the one before.
  appendFileSync(
    join(folder, "hooks.log"),
    "\\n" + JSON.stringify({ hook, phase, dispatchId: context.dispatchId, attempt: context.attempt, data: context.data }) + "\\n",
  );
  const place = hook + (context.data.to ? ">" + context.data.to : "") + " " + phase;
  const file = join(folder, "kill-at");
  if (!existsSync(file) || readFileSync(file, "utf8") !== place) return;
  rmSync(file);
  process.kill(process.pid, "SIGKILL");
};
export default {
  id: "guard",
  setup(api) {
    for (const hook of ${JSON.stringify(POINTS)}) {
      api.hooks.register({
        hook,
        phase: "before",
        name: "before-" + hook.replace(":", "-"),
        handler(context) {
          note(hook, "before", context);
          const rule = rules()[hook] ?? rules()[hook + ">" + context.data.to];
          if (typeof rule === "string") context.cancel(rule);
          else if (rule) Object.assign(context.data, rule);
        },
      });
      api.hooks.register({
        hook,
        phase: "after",
        name: "after-" + hook.replace(":", "-"),
        handler: (context) => note(hook, "after", context),
      });
    }
  },
};
`;

export interface Call {
  hook: string;
  phase: "before" | "after";
  dispatchId: string;
  attempt: number;
  data: Record<string, unknown> & { taskId?: string; to?: string; from?: string };
}

/** The process kills itself with SIGKILL, once, when the guard is called there: `task:transition>done before`. */
export function killAt(folder: string, place: string): void {
  writeFileSync(join(folder, "kill-at"), place);
}

/** Text: a refusal with this reason. An object: what is put into the payload. */
export function rule(folder: string, rules: Record<string, string | Record<string, unknown>>): void {
  writeFileSync(join(folder, "rules.json"), JSON.stringify(rules));
}

export function calls(folder: string): Call[] {
  return jsonLines(join(folder, "hooks.log"));
}
