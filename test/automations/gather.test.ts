/** Steps in order, their deadlines, and when a run is skipped or stopped for them. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { compileSkipIf } from "../../src/automations/short-circuit.js";
import type { Step, StepContext, StepResult } from "../../src/automations/step.js";
import { steps } from "../../src/automations/steps/index.js";
import { shellStep } from "../../src/automations/steps/shell.js";
import { jsonSchemaOf } from "../../src/lib/validation/json-schema.js";
import { type GatherOptions, gatherSteps, type WrittenStep } from "./steps/gathering.js";

/** Steps that come out as they are told. */
const EMPTY: StepResult = { value: { stdout: "" }, text: "", isEmpty: true };
const FULL: StepResult = { value: { stdout: "words" }, text: "words", isEmpty: false };
const OK = { ...FULL, isOk: true };
const RED = { ...FULL, isOk: false };

function told(outcomes: readonly (StepResult | Error | ((context: StepContext) => Promise<StepResult>))[]) {
  const ran: number[] = [];
  const table: Record<string, Step> = {};
  const written: WrittenStep[] = outcomes.map((_, index) => ({ [`step${index}`]: {} }) as WrittenStep);
  for (const [index, outcome] of outcomes.entries())
    table[`step${index}`] = {
      name: `step${index}`,
      summary: "",
      options: z.record(z.string(), z.unknown()),
      okWord: "exit_zero",
      fields: { stdout: "string" },
      async run(_, context) {
        ran.push(index);
        if (outcome instanceof Error) throw outcome;
        return typeof outcome === "function" ? outcome(context) : outcome;
      },
    };
  return { written, table, ran };
}

async function next(
  outcomes: Parameters<typeof told>[0],
  conditions: readonly (string | undefined)[],
  skipWhen: "any" | "all",
  more: GatherOptions = {},
) {
  const { written, table } = told(outcomes);
  const given = written.map((one, index) => {
    const [[name]] = Object.entries(one) as [[string, unknown]];
    return { [name]: conditions[index] === undefined ? {} : { skip_if: conditions[index] } } as WrittenStep;
  });
  return (await gatherSteps(given, { table, skipWhen, ...more })).next;
}

const RUN = { kind: "run" };
const skipped = (reason: string) => ({ kind: "skip", reason });

describe("a run is skipped", () => {
  it("for an empty step that asks for it, with the reason", async () => {
    expect(await next([EMPTY], ["empty"], "any")).toEqual(skipped("steps[0] step0: empty"));
    expect(await next([FULL], ["empty"], "any")).toEqual(RUN);
    expect(await next([EMPTY], [undefined], "any")).toEqual(RUN);
  });

  it("for a step that is ok", async () => {
    expect(await next([OK], ["exit_zero"], "any")).toEqual(skipped("steps[0] step0: exit_zero"));
    expect(await next([RED], ["exit_zero"], "any")).toEqual(RUN);
    expect(await next([FULL], ["exit_zero"], "any")).toEqual(RUN);
  });

  it("with `all` only when all that ask agree", async () => {
    const both = ["empty", "exit_zero"];
    expect(await next([EMPTY, OK], both, "all")).toEqual(skipped("steps[0] step0: empty; steps[1] step1: exit_zero"));
    expect(await next([FULL, OK], both, "all")).toEqual(RUN);
    expect(await next([EMPTY, FULL], ["empty", undefined], "all")).toEqual(skipped("steps[0] step0: empty"));
  });

  it("with `any` when one of them agrees", async () => {
    expect(await next([FULL, OK], ["empty", "exit_zero"], "any")).toEqual(skipped("steps[1] step1: exit_zero"));
  });

  it("by an expression over this step, those before, and the event", async () => {
    const event = { severity: "low", count: 3 };
    const expressions = [
      'step.stdout == "words"',
      "step.ok && !step.empty",
      'step.stdout.matches("^w.*s$")',
      'event.severity == "low" && event.count == 3',
      "steps.size() == 1 && steps[0].stdout.contains('wor')",
    ];
    for (const expression of expressions)
      expect(await next([OK], [expression], "any", { event }), expression).toEqual(
        skipped(`steps[0] step0: ${expression}`),
      );
    for (const expression of ["step.stdout == 'other'", "event.missing == 1", "event.missing"])
      expect(await next([OK], [expression], "any", { event }), expression).toEqual(RUN);
  });
});

it("a run ends as failed when its skip_if gives text, which is neither true nor false", async () => {
  expect(await next([OK], ["event.severity"], "any", { event: { severity: "low" } })).toEqual({
    kind: "stop",
    error: "steps[0] step0: skip_if event.severity gives text, not true or false: compare it with a value",
    timedOut: false,
  });
});

describe("nothing green hides something red", () => {
  const failure = new Error("boom");
  it.each(["any", "all"] as const)("with skip_when %s", async (skipWhen) => {
    const exit = ["exit_zero", "exit_zero"];
    expect(await next([OK, RED], exit, skipWhen)).toEqual(RUN);
    expect(await next([RED, OK], exit, skipWhen)).toEqual(RUN);
    expect(await next([OK, failure], exit, skipWhen)).toEqual(RUN);
    expect(await next([failure, OK], ["empty", "exit_zero"], skipWhen)).toEqual(RUN);
    expect(await next([EMPTY, failure], ["empty", undefined], skipWhen)).toEqual(RUN);
    expect(await next([EMPTY, RED], ["empty", undefined], skipWhen)).toEqual(RUN);
    expect(await next([OK, OK], exit, skipWhen)).toMatchObject({ kind: "skip" });
  });

  it("unless an expression asks for just that", async () => {
    expect(await next([RED], ["!step.ok"], "any")).toMatchObject({ kind: "skip" });
  });

  it("and what is empty because it failed is not empty", async () => {
    expect(await next([{ ...EMPTY, isOk: false }], ["empty"], "any")).toEqual(RUN);
    expect(await next([failure], ["empty"], "any")).toEqual(RUN);
    expect(await next([failure], ["!step.ok"], "any")).toEqual(RUN);
  });
});

describe("skip_if is refused at load", () => {
  const names = { event: jsonSchemaOf(z.object({ severity: z.string() })), steps: [] };
  const refusal = (source: string, step: Step = shellStep) => {
    try {
      compileSkipIf(source, step, names);
      return undefined;
    } catch (error) {
      return (error as { code: string; message: string }).message;
    }
  };

  it.each([
    ["a word that this step has not", "status_ok", "shell has no status_ok"],
    ["a word that there is not", "exit_zeroo", 'there is no "exit_zeroo"'],
    ["bad syntax", "step.exitCode ==", "skip_if"],
    ["a field that the step has not", "step.exitcode == 0", "exitcode"],
    ["a field that the payload has not", "event.severty == 'low'", "severty"],
    ["a name that there is not", "stp.exitCode == 0", "stp"],
    ["what is neither yes nor no", "step.stdout + 'low'", "skip_if"],
    ["what names nothing", "1 == 2", "names no field"],
    ["the event by another name", "payload.n > 1", "write event in place of payload"],
    ["text for a number", 'step.exitCode == "0"', "write 0"],
    ["a bad pattern", "step.stdout.matches('(')", "skip_if"],
  ])("%s", (_, source, message) => {
    expect(refusal(source)).toContain(message);
  });

  it("and taken for every step and word that there is", () => {
    for (const step of Object.values<Step>(steps)) {
      if (step.neverEmpty !== true) expect(refusal("empty", step)).toBeUndefined();
      if (step.okWord !== undefined) expect(refusal(step.okWord, step)).toBeUndefined();
      for (const field of Object.keys(step.fields))
        expect(refusal(`step.${field} == null`, step), field).toBeUndefined();
    }
  });
});

describe("steps", () => {
  it("run in order, each sees what came before, and each is recorded", async () => {
    const gathered = await gatherSteps([
      { shell: { sh: "echo one" } },
      { shell: { command: ["echo", "after {{ steps[0].stdout }}"] } },
      { shell: { sh: 'echo "$BOTH"', env: { BOTH: "{{step_0}}{{step_1.stdout}}" } } },
    ]);
    expect(gathered.outcomes.map((outcome) => "text" in outcome && outcome.text)).toEqual([
      "one\n",
      "after one\n\n",
      "one\nafter one\n\n\n",
    ]);
    expect(gathered.records.map(({ step, outcome }) => `${step} ${outcome}`)).toEqual(Array(3).fill("shell passed"));
    expect(gathered.records[0]?.result).toMatchObject({ stdout: "one\n", exitCode: 0, ok: true, empty: false });
  });

  it("go on after one that failed, which later templates can see", async () => {
    const { outcomes, records, next } = await gatherSteps([
      { shell: { command: ["no-such-program"] } },
      { shell: { command: ["echo", "{{ steps[0].stdout }} / {{ steps[0].error }}"] } },
    ]);
    expect(next).toEqual(RUN);
    expect(records[0]).toMatchObject({ outcome: "failed", error: expect.stringContaining("no such program") });
    expect(outcomes[1]).toMatchObject({
      text: expect.stringMatching(/^\[step 0 failed: no-such-program.*\] \/ no-such-program could not be started/),
    });
  });

  it("end the run when a required one fails or is not ok, and the rest is not started", async () => {
    for (const bad of [new Error("boom"), RED]) {
      const { written, table, ran } = told([FULL, bad, FULL]);
      (written[1] as Record<string, unknown>).step1 = { required: true };
      const { next, outcomes, records } = await gatherSteps(written, { table });
      expect(next).toMatchObject({
        kind: "stop",
        error: expect.stringContaining("steps[1] step1 is required"),
        timedOut: false,
      });
      expect(ran).toEqual([0, 1]);
      expect(outcomes).toHaveLength(2);
      expect(records).toHaveLength(2);
    }
  });

  it("do not outlast their time, even when they do not hear their signal", async () => {
    const deaf = () => new Promise<StepResult>(() => {});
    const { written, table } = told([deaf]);
    (written[0] as Record<string, unknown>).step0 = { timeout: 300 };
    const started = performance.now();
    const { outcomes, records } = await gatherSteps(written, { table });
    expect(performance.now() - started).toBeLessThan(5000);
    expect(outcomes).toEqual([
      { error: "the step did not end within 300 ms: raise `timeout` of the step, or have it do less", timedOut: true },
    ]);
    expect(records[0]).toMatchObject({ outcome: "timed_out" });
  });

  it("say that a required one had no time left", async () => {
    const { written, table } = told([() => new Promise<StepResult>(() => {})]);
    (written[0] as Record<string, unknown>).step0 = { timeout: 100, required: true };
    expect((await gatherSteps(written, { table })).next).toMatchObject({ kind: "stop", timedOut: true });
  });

  it("are ended with the run", async () => {
    const ending = new AbortController();
    const { written, table, ran } = told([
      ({ signal }) => new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason))),
      FULL,
    ]);
    const running = gatherSteps(written, { table, signal: ending.signal });
    setTimeout(() => ending.abort(new Error("stop")), 50);
    const { outcomes, next } = await running;
    expect(outcomes).toEqual([{ error: "the run was ended before the step was done", timedOut: false }]);
    expect(next).toMatchObject({ kind: "stop" });
    expect(ran).toEqual([0]);
  });
});
