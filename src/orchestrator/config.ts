/** Settings of tasks and of their assignees: `orchestrator:` in hookgate.yaml. */
import { z } from "zod";
import { addressField } from "../domain/chat/address.js";
import { ROLES } from "../domain/chat/identity.js";
import { checkProgramFields, programCommand, programSecrets, variableName } from "../lib/process/program-fields.js";
import { deadline, duration, someDeadline } from "../lib/validation/config-fields.js";
import { nearest } from "../lib/validation/nearest.js";

const shell = z
  .strictObject({
    command: programCommand().describe("The program and its arguments, passed as written: no shell is used."),
    sh: z
      .string()
      .min(1)
      .optional()
      .describe("A command line for /bin/sh. The task is in HOOKGATE_TASK_… and on stdin."),
    cwd: z
      .string()
      .min(1)
      .optional()
      .describe("The folder where the program runs, relative to the folder of this file."),
    env: z.record(z.string(), z.string()).default({}).describe("More environment variables for the program."),
    secrets: programSecrets(),
  })
  .superRefine((program, context) =>
    checkProgramFields(program, (message, ...path) => context.addIssue({ code: "custom", message, path })),
  );

const http = z.strictObject({
  url: z.url({ protocol: /^https?$/ }).describe("Where the task is sent as JSON; 2xx means that it is done."),
  method: z.enum(["POST", "PUT", "PATCH"]).default("POST").describe("The method of the HTTP request."),
  headers: z.record(z.string(), z.string()).default({}).describe("More headers of the HTTP request."),
  bearer_env: variableName.optional().describe("The environment variable with the bearer token of the HTTP request."),
  sign_env: variableName
    .optional()
    .describe("The environment variable with the secret that signs the HTTP request (Standard Webhooks)."),
});

const agent = z.strictObject({
  system: z.string().default("").describe("The system prompt of the model: its role and its rules."),
  model: z.string().min(1).optional().describe("The model, a name of `models:`; the default model when absent."),
  tools: z
    .array(z.string())
    .default([])
    .describe(
      "Other runners (shell or HTTP) that the agent may start, by name; an agent can always report and finish.",
    ),
  max_rounds: z.int().min(1).max(200).default(20).describe("How many requests to the model one attempt may make."),
  max_output_tokens: z.int().min(1).max(200_000).default(4096).describe("The most output tokens of one answer."),
  max_tokens: z
    .int()
    .min(1)
    .max(10_000_000)
    .default(200_000)
    .describe("How many tokens, in and out, one attempt may use."),
  max_cost_usd: z
    .number()
    .positive()
    .optional()
    .describe("What one attempt may cost, in US dollars; needs a model whose price is known."),
});

const person = z.strictObject({
  user: z
    .string()
    .regex(/^[a-z]+:[^:]+$/, "expected platform:user id, such as telegram:12345")
    .describe("The person who gets the card, as platform:user id."),
  at: addressField.optional().describe("The chat where the card goes; to the person directly when absent."),
});

const runner = z
  .strictObject({
    shell: shell.optional().describe("A program; exit code 0 means done."),
    http: http.optional().describe("The task is an HTTP request to another system."),
    agent: agent.optional().describe("The task is given to a language model with tools."),
    person: person.optional().describe("The task is given to a person, as a card with buttons."),
    role: z
      .enum(ROLES)
      .default("operator")
      .describe(
        "Who may give it tasks, see its output, and decide what comes of its tasks (start, done, refuse, retry, assign, release a gate behind or in front of them), also when a task was assigned to another person: this role and above. Any operator may pause and cancel them. With admin or owner, cards, answers that other people in the chat can read, and the rows of `db_query` do not show its output. An agent takes the highest role of the runners among its `tools`. Hooks with a step that creates tasks for it are fired and enabled by this role only. A person has no other than operator.",
      ),
    concurrency: z.int().min(1).max(1_000).default(1).describe("How many tasks the runner does at once."),
    max_duration: someDeadline().optional().describe("The longest time of one attempt, for tasks that set none."),
    on_interrupt: z
      .enum(["restart", "hold", "fail"])
      .default("restart")
      .describe(
        "What to do with a run that was interrupted because the gateway ended. restart: start it again, under the same run id; hold: wait for a person, for work that must not be done twice; fail: count it as a failed attempt. While the runner is not in the settings, the run waits.",
      ),
  })
  .refine(
    (one) => [one.shell, one.http, one.agent, one.person].filter((kind) => kind !== undefined).length === 1,
    "expected exactly one of shell, http, agent and person",
  )
  // Anyone who may give a person a task may name the account in place of the runner.
  .refine(({ person, role }) => person === undefined || role === "operator", {
    path: ["role"],
    error:
      "a person does tasks for every operator, who may also read what the person reports: leave `role` out, and keep words for admins out of tasks for people",
  });

const settings = z.strictObject({
  runners: z
    .record(z.string().regex(/^[\w.-]{1,64}$/), runner)
    .default({})
    .describe("Runners that do tasks, by name. People can be given tasks without being named here."),
  show_in: addressField.optional().describe("Default chat for tasks that are created outside chat."),
  max_running: z.int().min(1).max(1_000).default(8).describe("How many programs, requests and agents run at once."),
  max_duration: deadline("1h").describe(
    "The longest time of one attempt, when neither the task nor its runner sets one.",
  ),
  max_output: z
    .int()
    .min(1_000)
    .max(4_000_000)
    .default(256_000)
    .describe("How many bytes of output are kept of an attempt."),
  tick: duration("5s").describe("How often the hook point orchestrator:tick fires."),
  max_crashes: z
    .int()
    .min(0)
    .max(100)
    .default(3)
    .describe(
      "How many crashes in a row may cut off a run, or the hooks at one point about a task or a mission, before the task or mission waits for a person. An orderly stop does not count.",
    ),
  lease: duration("30s").describe("A run without a heartbeat for this long counts as lost."),
  keep: duration("90d").describe("How long ended tasks are kept."),
  // 0 waits for nothing.
  shutdown_timeout: duration("10s").describe("How long a stop waits for what is running; then it is ended."),
});

/** Agents: the runners that they may start have to exist, and be a program or a request. */
export const orchestratorConfig = settings.superRefine(({ runners }, context) => {
  for (const [name, { agent }] of Object.entries(runners))
    for (const [index, tool] of (agent?.tools ?? []).entries()) {
      const other = Object.hasOwn(runners, tool) ? runners[tool] : undefined;
      if (other?.shell !== undefined || other?.http !== undefined) continue;
      const near = other === undefined ? nearest(tool, Object.keys(runners)) : undefined;
      const what = other === undefined ? `there is no runner "${tool}"` : `"${tool}" is no program and no request`;
      const message = `${what}${near === undefined ? "" : `; did you mean "${near}"?`}`;
      context.addIssue({ code: "custom", path: ["runners", name, "agent", "tools", index], message });
    }
});
export type OrchestratorConfig = z.output<typeof orchestratorConfig>;
export type RunnerConfig = OrchestratorConfig["runners"][string];
export type ShellConfig = NonNullable<RunnerConfig["shell"]>;
export type HttpConfig = NonNullable<RunnerConfig["http"]>;
export type AgentConfig = NonNullable<RunnerConfig["agent"]>;
export type PersonConfig = NonNullable<RunnerConfig["person"]>;
