/** `run: module` with real files. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { moduleHandler } from "../../../src/automations/handlers/module.js";
import { systemClock } from "../../../src/lib/time/clock.js";
import { type FixtureOptions, handlerContext } from "../handler-context.js";
import { ownFolder } from "../steps/gathering.js";

const { path: folder, remove } = ownFolder("module-handler");
afterAll(remove);
let files = 0;

function write(source: string, extension = "mjs"): string {
  const name = `m${++files}.${extension}`;
  writeFileSync(join(folder, name), source);
  return name;
}

function run(given: Record<string, unknown>, fixture: FixtureOptions = {}) {
  const { context } = handlerContext({ folder, clock: systemClock, ...fixture });
  return moduleHandler.run(moduleHandler.options.parse(given), context);
}

describe("the module handler", () => {
  it("calls the default export with the payload and who runs", async () => {
    const path = write(
      "export default (event, { hookId, event: name, options }) => ({ event, hookId, name, options });",
    );
    const returned = { event: { taskId: "t1" }, hookId: "night-watch", name: "task:fail", options: { level: 3 } };
    expect(await run({ path, with: { level: 3 } }, { event: { taskId: "t1" } })).toEqual({
      kind: "decided",
      decision: { kind: "pass" },
      undecided: { given: returned },
      rendered: `${path}#default`,
      output: returned,
    });
  });

  it("takes a decision from what the function returns, sooner or later", async () => {
    const path = write('export async function guard() { return { decision: "block", reason: "not today" }; }');
    expect(await run({ path, export: "guard" })).toMatchObject({ decision: { kind: "block", reason: "not today" } });
    expect(await run({ path: write('export default () => ({ decision: "maybe" });') })).toMatchObject({
      kind: "failed",
      isRetryable: false,
    });
    expect(await run({ path: write("export default () => undefined;") })).toMatchObject({ decision: { kind: "pass" } });
  });

  it("fails for a decision in a list; any other list passes", async () => {
    const returned = (value: unknown) => run({ path: write(`export default () => (${JSON.stringify(value)});`) });
    expect(await returned([{ decision: "block", reason: "not today" }])).toMatchObject({
      kind: "failed",
      error: "what the function returned means to decide, but it is a list: give the object itself",
    });
    expect(await returned(["a", null, { reply: "b" }])).toMatchObject({ decision: { kind: "pass" } });
  });

  it("gives the function a copy of the payload", async () => {
    const event = { text: "as it was" };
    await run({ path: write('export default (event) => { event.text = "changed"; };') }, { event });
    expect(event).toEqual({ text: "as it was" });
  });

  it.each(["mjs", "cjs"])("loads a changed file anew (%s)", async (extension) => {
    const source = (version: number) =>
      extension === "mjs" ? `export const v = () => "v${version}";` : `exports.v = () => "v${version}";`;
    const path = write(source(1), extension);
    expect(await run({ path, export: "v" })).toMatchObject({ output: "v1" });
    writeFileSync(join(folder, path), `${source(22)}\n`);
    expect(await run({ path, export: "v" })).toMatchObject({ output: "v22" });
  });

  it("fails when the function throws, with its words", async () => {
    expect(await run({ path: write('export default () => { throw new Error("boom"); };') })).toMatchObject({
      kind: "failed",
      error: "boom",
      isRetryable: true,
    });
  });

  it("fails for a module or a function that is not there, or does not load", async () => {
    expect(await run({ path: "missing.mjs" })).toMatchObject({
      kind: "failed",
      error: expect.stringContaining("there is no module"),
      isRetryable: false,
    });
    const path = write("export const check = () => {}; export const n = 1;");
    expect(await run({ path })).toMatchObject({ error: `${path} exports no function "default"; it exports check` });
    expect(await run({ path: write("export default (") })).toMatchObject({ kind: "failed" });
  });

  it("does not wait for a function after the run was ended", async () => {
    const ending = new AbortController();
    const running = run({ path: write("export default () => new Promise(() => {});") }, { signal: ending.signal });
    setTimeout(() => ending.abort(new Error("its time is over")), 100);
    expect(await running).toMatchObject({ kind: "failed", timedOut: true, error: "its time is over" });
  });

  it("is not called for a dry run, but must be there", async () => {
    const path = write('export default () => { throw new Error("called"); };');
    expect(await run({ path }, { dryRun: true })).toMatchObject({ kind: "decided", output: { dryRun: true } });
    expect(await run({ path: "missing.mjs" }, { dryRun: true })).toMatchObject({ kind: "failed" });
  });

  it("keeps what cannot be written as JSON as words", async () => {
    const path = write("export default () => { const a = {}; a.a = a; return a; };");
    expect(await run({ path })).toMatchObject({ kind: "decided", output: "[object Object]" });
  });

  it("names a JavaScript file, and no template does", () => {
    expect(moduleHandler.options.safeParse({ path: "a.ts" }).success).toBe(false);
    expect(moduleHandler.options.safeParse({ path: "{{ event.x }}.js" }).success).toBe(false);
  });
});
