/** Every trigger through the running product: real files, a real clock, signed events, restarts and kills. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "../../cli/run-cli.js";
import { TOKEN } from "../../support/gateway-process.js";
import { jsonLines, linesOf } from "../../support/lines.js";
import { until } from "../../support/until.js";
import { EVENT_SECRET, type Product, startProduct } from "../product.js";

const CLOCK = resolve(import.meta.dirname, "../../fixtures/step-clock.mjs");

let product: Product;

/** Appends the payload to a log of the hook's own, one line a run. */
const noting = (id: string) => ({ shell: { sh: `tr -d '\\n' >> ${id}.log; echo >> ${id}.log` } });

// biome-ignore lint/suspicious/noExplicitAny: payloads of all points, read by the tests field by field
function noted(id: string): any[] {
  return jsonLines(join(product.folder, `${id}.log`));
}

const write = (name: string, text: string) => {
  mkdirSync(join(product.folder, name, ".."), { recursive: true });
  writeFileSync(join(product.folder, name), text);
};

async function restart(whileDown: () => void | Promise<void> = () => {}): Promise<void> {
  await product.stop();
  await whileDown();
  await product.start();
  await product.ready();
}

const wait = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

describe("what starts a hook", { timeout: 120_000 }, () => {
  afterEach(() => product.close());

  it("is a file, a folder, an event, the end of another hook, and a reload, each with its payload", async () => {
    const hooks = [
      { id: "files", trigger: { files: { paths: "in/**/*.csv", debounce: "100ms" } }, run: noting("files") },
      { id: "folder", trigger: { files: { paths: "in", as: "folder", debounce: "300ms" } }, run: noting("folder") },
      { id: "others", trigger: { files: { paths: "elsewhere", debounce: "100ms" } }, run: noting("others") },
      { id: "event", trigger: { event: "deploy" }, run: noting("event") },
      { id: "ends", on: "hook_run_completed", match: { when: 'payload.hookId == "event"' }, run: noting("ends") },
      { id: "reloads", on: "config.reloaded", run: noting("reloads") },
    ];
    product = await startProduct({ hooks });
    write("in/deep/a.csv", "1,2");
    await until(() => noted("files").length === 1 && noted("folder").length === 1, "the file and the folder");
    expect(noted("files")).toEqual([
      {
        path: join(product.folder, "in/deep/a.csv"),
        relativePath: "in/deep/a.csv",
        operation: "created",
        sizeBytes: 3,
        watchId: "files",
      },
    ]);
    expect(noted("folder")[0]).toMatchObject({ path: join(product.folder, "in"), count: 1, watchId: "folder" });

    await product.event({ branch: "main" });
    await until(() => noted("ends").length === 1, "the end of the event's hook");
    expect(noted("event")).toEqual([{ branch: "main" }]);
    expect(noted("ends")[0]).toMatchObject({ hookId: "event", outcome: "succeeded" });

    const file = join(product.folder, "hookgate.yaml");
    const config = JSON.parse(readFileSync(file, "utf8"));
    const more = { id: "more", trigger: { files: { paths: "more", debounce: "100ms" } }, run: noting("more") };
    writeFileSync(file, JSON.stringify({ ...config, hooks: [...hooks, more] }));
    await until(() => noted("reloads").length === 1, "the reload");
    expect(noted("reloads")[0]).toMatchObject({ added: ["more"], changed: [], removed: [], hooks: 7 });
    write("more/1", "x");
    await until(() => noted("more").length === 1, "the watch that came with the reload");
    write("in/b.csv", "3");
    await until(() => noted("files").length === 2, "the watch that stayed");
    expect(noted("others")).toEqual([]);
  });

  it("is time, over restarts: what was missed is made good once, and nothing is fired for having started", async () => {
    const at = (inMs: number) => new Date(Date.now() + inMs).toISOString();
    const begunAt = Date.now();
    product = await startProduct({
      hooks: [
        { id: "often", trigger: { every: "1s" }, run: noting("often") },
        { id: "hourly", trigger: { every: "1h" }, run: noting("hourly") },
        { id: "seconds", trigger: { cron: "* * * * * *", timezone: "UTC" }, run: noting("seconds") },
        { id: "once", trigger: { at: at(60_000) }, run: noting("once") },
        { id: "late", trigger: { at: at(60_000) }, run: noting("late") },
        { id: "not-late", trigger: { at: at(60_000), catch_up: false }, run: noting("not-late") },
      ],
    });
    const startTookMs = Date.now() - begunAt;
    await until(() => noted("often").length >= 2 && noted("seconds").length >= 2, "the first runs");
    expect(noted("often")[0]).toMatchObject({ hookId: "often", trigger: "every" });
    expect(noted("often")[1].lastRun).toBeDefined();

    // A schedule that changes while it is down is reckoned anew. The time comes when it has been up and is down once more.
    const file = join(product.folder, "hookgate.yaml");
    const config = JSON.parse(readFileSync(file, "utf8"));
    const soon = at(2_000 + 5 * startTookMs);
    for (const hook of config.hooks) if ("at" in hook.trigger) hook.trigger.at = soon;
    writeFileSync(file, JSON.stringify(config));
    await restart();
    await restart(() => wait(Math.max(0, Date.parse(soon) - Date.now()) + 500));
    await until(() => noted("late").length === 1 && noted("once").length === 1, "what was missed");
    await restart();
    const before = noted("often").length;
    await until(() => noted("often").length > before, "the next of the often");
    expect(product.runs("late").map(({ status }) => status)).toEqual(["succeeded"]);
    expect(noted("once")).toHaveLength(1);
    // A day later their time is long past.
    writeFileSync(join(product.folder, "offset"), String(86_400_000));
    const env = {
      EVENT_SECRET,
      HOOKGATE_TEST_CLOCK: join(product.folder, "offset"),
      NODE_OPTIONS: `--import=${CLOCK}`,
    };
    const checked = await runCli(["check"], { cwd: product.folder, env });
    expect(checked.out + checked.err).not.toMatch(/hook (once|late): .*never fires/);
    expect(checked.out + checked.err).toMatch(/hook not-late: .*never fires/);
    expect(product.runs("not-late")).toEqual([]);
    expect(product.runs("hourly")).toEqual([]);
  });

  it("is a change made while the gateway was down, found when it starts", async () => {
    product = await startProduct({
      hooks: [
        {
          id: "files",
          trigger: { files: { paths: "in", debounce: "50ms" } },
          run: noting("files"),
          when_busy: "queue",
        },
      ],
    });
    write("in/stays", "1");
    write("in/goes", "1");
    await product.ended("files", 2);
    await restart(() => {
      write("in/stays", "changed");
      rmSync(join(product.folder, "in/goes"));
      write("in/comes", "1");
    });
    await product.ended("files", 5);
    const changes = noted("files")
      .slice(2)
      .map(({ relativePath, operation }) => `${relativePath} ${operation}`);
    expect(changes.sort()).toEqual(["in/comes created", "in/goes deleted", "in/stays modified"]);
    await restart();
    write("in/last", "1");
    await product.ended("files", 6);
    expect(noted("files")).toHaveLength(6);
  });
});

/** All in one gateway at the same time: each writes into a folder of its own. */
describe("a hook that writes where it watches", { timeout: 400_000, concurrent: true }, () => {
  const watching = (id: string, sh: string) => ({
    id,
    trigger: { files: { paths: id, debounce: "50ms" } },
    run: { shell: { sh } },
    when_busy: "queue",
    max_queued: 1000,
  });
  const LOOPS = {
    "the-same-file": "cat > /dev/null; echo $$ > the-same-file/a",
    "ever-new-ones": "cat > /dev/null; mktemp ever-new-ones/XXXXXXXX > /dev/null",
    "and-removes-them": "cat > /dev/null; touch and-removes-them/b; sleep 0.8; rm and-removes-them/b",
  };
  beforeAll(async () => {
    product = await startProduct({
      hooks: [
        ...Object.entries(LOOPS).map(([id, sh]) => watching(id, sh)),
        watching("rewritten", `cat > /dev/null; sleep 0.1`),
        watching("new", `tr -d '\\n' >> new.log; echo >> new.log; sleep 0.25`),
      ],
    });
  }, 120_000);
  afterAll(() => product.close());

  const stuckOf = async (id: string) => {
    const response = await fetch(`${product.url}/api/v1/hooks/${id}`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const { stuck } = (await response.json()) as { stuck: { message: string }[] };
    return stuck.map(({ message }) => message).join();
  };
  const notices = async (id: string) =>
    (await product.messages("dm-1")).filter(({ text }) => text.includes(`The hook ${id} seems to start itself`));
  const isHeld = async (id: string) => (await stuckOf(id)).includes("nothing starts it until /hooks enable");
  const ran = (id: string) => product.runs(id).filter(({ status }) => status === "succeeded");

  it.each(Object.keys(LOOPS))("does not start itself: %s", async (id) => {
    write(`${id}/a`, "by hand");
    await until(() => isHeld(id), "it being held", 150_000);
    await until(async () => (await notices(id)).length === 1, "the notice");
    await until(() => product.runs(id).every(({ status }) => !/queued|running/.test(status)), "its runs being over");
    const rounds = ran(id).length;
    expect(rounds).toBeLessThanOrEqual(60);
    // Nothing starts it, until a person lets it run: then everything that was changed meanwhile does.
    write(`${id}/by-hand`, "x");
    await wait(2_000);
    expect(ran(id)).toHaveLength(rounds);
    await product.say(`/hooks enable ${id}`);
    await until(() => ran(id).length > rounds, "it running again");
    await until(() => isHeld(id), "it being held again", 150_000);
    await until(async () => (await notices(id)).length === 2, "the second notice");
  });

  it("loses nothing of what others write, however fast it comes and however long the hook takes", async () => {
    const count = 40;
    for (let change = 1; change <= count; change++) {
      write(`new/${change}`, "x");
      write("rewritten/a", String(change));
      await wait(150);
    }
    await until(() => noted("new").length === count, "every new file", 90_000);
    await until(() => ran("new").length === count, "every run");
    expect([...(await notices("new")), ...(await notices("rewritten"))]).toEqual([]);
  });
});

describe("a kill at any moment", { timeout: 240_000 }, () => {
  afterEach(() => product.close());

  it("loses no change, event or time, doubles none, and leaves nothing running", async () => {
    const slow = (id: string) => ({
      shell: { sh: `cat > /dev/null; echo "$HOOKGATE_RUN_ID" >> ${id}.ran; sleep 0.05` },
    });
    const busy = { when_busy: "queue", concurrency: 3, max_queued: 1000 };
    product = await startProduct({
      automations: { lease: "2s" },
      hooks: [
        { id: "files", trigger: { files: { paths: "in", debounce: "30ms" } }, run: slow("files"), ...busy },
        { id: "event", trigger: { event: "deploy" }, run: slow("event"), ...busy },
        { id: "often", trigger: { every: "1s" }, run: slow("often"), ...busy },
      ],
    });
    const rounds = 6;
    let files = 0;
    let accepted = 0;
    for (let round = 1; round <= rounds; round++) {
      for (let i = 0; i < 5; i++) write(`in/${++files}`, "x");
      const sending = Array.from({ length: 5 }, (_, i) =>
        product.event({ round, i }, { id: `round_${round}_${i}` }).then(
          () => accepted++,
          () => {}, // not acknowledged: the sender would send it again
        ),
      );
      await wait(20 + ((round * 137) % 400));
      await product.kill();
      await Promise.all(sending);
      write(`in/${++files}`, "while down");
      await product.start();
      await product.ready();
    }
    await product.ended("files", files);
    await until(
      () => product.runs("event").every(({ status }) => status !== "queued" && status !== "running"),
      "all events",
    );

    for (const id of ["files", "event", "often"]) {
      const runs = product.runs(id).filter(({ status }) => status !== "skipped");
      const ran = linesOf(join(product.folder, `${id}.ran`));
      // Once at most, and whatever did run has a row that says so.
      expect(new Set(ran).size).toBe(ran.length);
      expect(ran.filter((run) => !runs.some((row) => row.id === run))).toEqual([]);
      // Whatever has no trace of having run says that it was cut off.
      const silent = runs.filter((row) => !ran.includes(row.id) && isEnded(row.status));
      expect(silent.filter(({ status }) => status !== "interrupted")).toEqual([]);
    }
    expect(product.runs("files").length).toBe(files);
    expect(product.runs("event").length).toBeGreaterThanOrEqual(accepted);
    expect(product.runs("event").length).toBeLessThanOrEqual(rounds * 5);
  });
});

const isEnded = (status: string) => status !== "queued" && status !== "running" && status !== "backgrounded";
