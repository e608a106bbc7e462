/** docs/hooks.md: all settings of a definition, read from the tables that parse it; and the examples, which the tests load. */
import { readdirSync, readFileSync } from "node:fs";
import { commonStepForm, definitionForm } from "../src/automations/definition/schema.js";
import { handlers } from "../src/automations/handlers/index.js";
import { queries } from "../src/automations/queries.js";
import type { Step } from "../src/automations/step.js";
import { steps } from "../src/automations/steps/index.js";
import { triggerKinds } from "../src/automations/triggers/index.js";
import { describeSettings } from "../src/config/describe.js";
import { catalogue } from "../src/hooks/catalogue/index.js";
import { fieldsOf, type HookPoint } from "../src/hooks/point.js";

export const EXAMPLES = "examples/hooks";

type Table = (head: string[], rows: string[][]) => string;

/** The input of handlers, their decisions, and the effect of a decision at each point. */
function renderProtocol(table: Table): string {
  const points = catalogue.flatMap((point: HookPoint) => {
    const fields = fieldsOf(point.result);
    const decides = {
      void: [],
      modifying: ["modify", ...(fields?.some((field) => field === "cancel" || field === "error") ? ["block"] : [])],
      claiming: ["claim", "block"],
      lifecycle: beforeDecisions(point),
      turn: ["modify (patch.contributions)", "block"],
    }[point.model];
    if (decides.length === 0) return [];
    return [
      [
        `\`${point.name}\``,
        point.model,
        decides.join(", "),
        (fields ?? point.mutable ?? []).map((field) => `\`${field}\``).join(", "),
      ],
    ];
  });
  return readFileSync("scripts/hooks-protocol.md", "utf8")
    .trim()
    .replace("<!-- points -->", () =>
      table(["point", "model", "decisions", "fields of its result, or of its payload that may change"], points),
    );
}

function beforeDecisions({ phases, vetoable, mutable, isSync }: HookPoint): string[] {
  if (!phases.includes("before") || isSync) return [];
  const decisions = [...(vetoable ? ["block"] : []), ...(mutable?.length === 0 ? [] : ["modify"])];
  return decisions.length === 0 ? [] : [`before: ${decisions.join(", ")}`];
}

export function renderHooks(generated: string, table: Table): string {
  const settings = (schema: Parameters<typeof describeSettings>[0]) => {
    const rows = describeSettings(schema).map(({ path, type, fallback, description }) => [
      `\`${path}\``,
      type,
      fallback === undefined ? "" : `\`${fallback}\``,
      description,
    ]);
    return rows.length === 0 ? "No settings." : table(["setting", "values", "default", "meaning"], rows);
  };
  const kinds = Object.entries(triggerKinds).map(([name, schema]) => `### \`${name}\`\n\n${settings(schema)}`);
  const gathering = Object.entries<Step>(steps).map(
    ([name, step]) =>
      `### \`${name}\`\n\n${step.summary} Brings: ${Object.keys(step.fields)
        .map((field) => `\`${field}\``)
        .join(", ")}.\n\n${settings(step.options)}`,
  );
  const acting = Object.entries(handlers).map(
    ([name, handler]) => `### \`${name}\`\n\n${handler.summary}\n\n${settings(handler.options)}`,
  );
  const asked = table(
    ["query", "what it returns", "arguments"],
    Object.entries(queries).map(([name, { summary, args }]) => [
      `\`${name}\``,
      summary,
      Object.keys(args.shape)
        .map((key) => `\`${key}\``)
        .join(", "),
    ]),
  );
  const examples = readdirSync(EXAMPLES)
    .sort()
    .map((name) => `### ${name}\n\n\`\`\`yaml\n${readFileSync(`${EXAMPLES}/${name}`, "utf8").trim()}\n\`\`\``);
  return `# Hooks of your own\n\n${generated}
Definitions are written under \`hooks:\` of hookgate.yaml, or in YAML files of the folder \`hooks\` beside it. \`npx hookgate check\` lists
every problem at once, with its line, by the rules of a start and a reload.

- A broken definition stops no other. It is listed in \`/status\`, \`/hooks broken\`, \`npx hookgate doctor\` and as \`degraded\` in
  \`/readyz\` until it is fixed. After a reload the previous version of the hook stays in force, at its place in the order; after a start
  the hook is absent. A hook with \`critical: true\` refuses the start or the reload instead.
- A slip in the YAML of a file breaks the entry in which it is; the other entries that can be read stay in force. A broken entry, or a
  file of which nothing can be read, that contains \`critical: true\` refuses the start. An emptied file is reported, and starts.
- Beside \`hooks:\` a file of the folder has only keys that start with \`x-\`, for parts that YAML anchors repeat. A setting of a hook there
  (\`on_failure\` with too little indentation) breaks the hook above it, or all of the file when it is above \`hooks:\`. Any other key is a
  broken entry, and so are the hooks under another word than \`hooks:\` (\`hook:\`, \`- hooks:\`): the report names them.
- Two entries cannot have one id: the second is broken. After a reload, the hook that is in force keeps its id, and the new entry is broken.
- When \`hooks\` itself is a file or a link that leads nowhere, guards may be missing: the start and the reload are refused.
- A file or a folder that the gateway's user may not read is listed like a broken definition: hooks of it that are in force stay in
  force, and the rest of a change is applied. A start goes on without these hooks.
- A module that the gateway's user may not read, or a local file that it imports, is listed, too: what was loaded before stays in force.
  After a start the hook is there, its runs fail, and \`on_failure\` applies. The next run after the rights are corrected loads it.
- A hook whose program, module, mission plan or room is missing is listed, too, and stays in force: its runs fail, and \`on_failure\`
  applies. A hook whose \`after\` or \`before\` names a hook that is broken or absent is listed and stays in force, without that order.

${renderProtocol(table)}

## Examples

${examples.join("\n\n")}

## A definition

${settings(definitionForm)}

## Triggers

A hook starts \`on\` a hook point (hook-points.md), by \`trigger: manual\`, or by one of these under \`trigger\`.

${kinds.join("\n\n")}

A folder of \`files\` that the gateway's user may not list and enter is a problem in \`/status\`, \`/readyz\`, \`/hooks why\`, \`npx hookgate check\` and
the log. It is watched again within seconds after it can be read. Then, as after a time when the gateway was stopped, each file that was
created, modified or deleted meanwhile starts the hook. A folder that the hook has never read counts as empty until then, like one that is not
there yet: all files in it start the hook. A folder in which no file matters goes under \`ignore\`.

A symbolic link in a path of \`files\` is followed. Within seconds after it leads to another target, that one is watched, and each file that
differs in its size or date from what was there before, is new or is missing starts the hook. Links to folders inside a watched folder are not followed.

## Context steps

They run in order, before the handler; each sees the results of those before. Besides its own settings, every step takes:

${settings(commonStepForm)}

These settings go inside the step, next to its own:

\`\`\`yaml
context:
  - shell: { command: [git, diff, --quiet], skip_if: exit_zero }
\`\`\`

\`skip_if\` is \`exit_zero\`, \`empty\`, \`status_ok\`, or a CEL expression over \`step\` (this one), \`steps\` and \`event\`. All steps run, also
those after a step whose \`skip_if\` holds, up to a required one that fails. What must not happen then goes under \`run\`. The handler is skipped
only when nothing is red: a step that failed, or is not ok (an exit code, a status, a test) without its own expression asking for that,
keeps it running. What failed is neither empty nor ok. An expression that has no answer does not skip the run: it names a field that is not
there, compares two types, or is \`int(step.stdout)\` of a text that ends with a line break (write \`int(step.stdout.trim())\`). \`/run\`,
\`/hooks why\`, \`/hooks test\` and the log show that. In templates, every step has \`ok\`, \`empty\`,
\`error\` and \`timedOut\`, too; in \`skip_if\`, \`ok\` where there is an exit code or a status, and \`empty\`.

${gathering.join("\n\n")}

### What \`db_query\` can ask

${asked}

## Handlers

Exactly one under \`run\`. Its decision is pass, block, modify or claim; a failure is none of them, and \`on_failure\` decides what happens then.

${acting.join("\n\n")}
`;
}
