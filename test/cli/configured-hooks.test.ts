/** Configured hooks from the command line: the same answers as in chat, as text and as JSON. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Product, startProduct } from "../automations/product.js";
import { TOKEN } from "../support/gateway-process.js";
import { runCli } from "./run-cli.js";

let product: Product;
beforeAll(async () => {
  product = await startProduct({
    hooks: [
      {
        id: "count",
        trigger: "manual",
        context: [{ shell: { command: ["echo", "one two three"] } }],
        run: { shell: { sh: "wc -w", stdin: "{{ steps[0].stdout }}" } },
      },
      {
        id: "nightly",
        trigger: { cron: "0 3 * * *", timezone: "Europe/Berlin" },
        run: { shell: { command: ["true"] } },
      },
    ],
  });
  writeFileSync(join(product.folder, "payload.json"), '{"branch": "main"}');
});
afterAll(() => product.close());

const cli = (...args: string[]) =>
  runCli(args, {
    cwd: product.folder,
    env: { HOOKGATE_PORT: new URL(product.url).port, HOOKGATE_TOKEN: TOKEN },
  });

async function json(...args: string[]) {
  const { code, out, err } = await cli(...args, "--json");
  return { code, err, data: JSON.parse(out) };
}

describe("hookgate hooks", { timeout: 60_000 }, () => {
  it("test: runs the steps, shows what each gave, and calls no handler", async () => {
    const { code, out } = await cli("hooks", "test", "count", "--payload", "@payload.json");
    expect(code).toBe(0);
    expect(out).toContain("one two three");
    const { data } = await json("hooks", "test", "count");
    expect(data).toMatchObject({ kind: "run", dryRun: true, status: "succeeded", hookId: "count" });
    expect(product.runs("count")).toEqual([]);
  });

  it("next, broken and add: as JSON", async () => {
    expect((await json("hooks", "next")).data.next).toMatchObject([
      { hookId: "nightly", schedule: "cron 0 3 * * * (Europe/Berlin)", enabled: true },
    ]);
    expect((await json("hooks", "broken")).data).toEqual({
      broken: [],
      breakers: [],
      stuck: [],
      problems: [],
      page: 1,
      pages: 1,
    });
    expect((await json("hooks", "add")).data.snippet).toContain("trigger:");
  });

  it("pause and resume: all of them, and say when there was nothing to do", async () => {
    expect((await json("hooks", "pause")).data).toEqual({ paused: true, changed: true });
    expect((await json("hooks", "pause")).data).toEqual({ paused: true, changed: false });
    // A person fires one all the same, and it is on record.
    expect((await json("fire", "count", "--live")).data).toMatchObject({ status: "succeeded" });
    expect(product.runs("count").map(({ status }) => status)).toEqual(["succeeded"]);
    expect((await json("hooks", "resume")).data).toEqual({ paused: false, changed: true });
  });
});

describe("hookgate fire, runs, run and replay", { timeout: 60_000 }, () => {
  it("fire a configured hook, list its runs, show one and repeat it", async () => {
    const fired = await json("fire", "count", "--live", "--payload", "example");
    expect([fired.code, fired.data.status]).toEqual([0, "succeeded"]);
    const { id } = fired.data;
    expect((await json("runs", "count")).data.runs).toMatchObject([{ id, trigger: "manual" }, { status: "succeeded" }]);
    const shown = (await json("run", id, "--reveal")).data;
    expect(JSON.stringify(shown.attempts[0].output)).toContain("3");
    const { data } = await json("replay", id, "--live");
    expect(data).toMatchObject({ replayOf: id, status: "succeeded", changes: [] });
  });
});
