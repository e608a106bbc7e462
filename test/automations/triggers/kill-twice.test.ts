/** Killed while a dispatch of a trigger is under way: it is handed over again, and what may not run twice does not. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { linesOf } from "../../support/lines.js";
import { until } from "../../support/until.js";
import { type Product, startProduct } from "../product.js";

let product: Product;
afterEach(() => product.close());

const lines = (name: string) => linesOf(join(product.folder, name));

it("a hook that the dispatch waits for is ended with the reason; a plugin is told that it is the second attempt", {
  timeout: 120_000,
}, async () => {
  const waits = (id: string, on: string) => ({
    id,
    on,
    execution: "deadline",
    timeout: "5m",
    run: { shell: { sh: `echo "$HOOKGATE_RUN_ID" >> ${id}.ran; until [ -e go ]; do sleep 0.05; done` } },
  });
  product = await startProduct(
    {
      plugins: ["./listens.mjs"],
      hooks: [
        {
          id: "watch",
          trigger: { files: { paths: "in", debounce: "50ms" } },
          run: { shell: { sh: "cat > /dev/null" } },
        },
        { id: "deploys", trigger: { event: "deploy" }, run: { shell: { sh: "cat > /dev/null" } } },
        waits("on-file", "file.changed"),
        waits("on-event", "event:deploy"),
        { ...waits("beside", "event:deploy"), execution: "fire_and_record" },
      ],
    },
    { LOG_LEVEL: "info" },
    (folder) =>
      writeFileSync(
        join(folder, "listens.mjs"),
        `import { appendFileSync } from "node:fs";
export default { id: "listens", setup(api) {
  for (const point of ["file.changed", "event:deploy"])
    api.hooks.registerVoid(point, (_, { attempt, dispatchId }) => appendFileSync("plugin.ran", point + " " + attempt + " " + dispatchId + "\\n"));
} };`,
      ),
  );
  mkdirSync(join(product.folder, "in"));
  writeFileSync(join(product.folder, "in/a"), "x");
  await product.event({ branch: "main" });
  await until(() => ["on-file", "on-event", "beside"].every((id) => lines(`${id}.ran`).length === 1), "all under way");
  await product.kill();
  writeFileSync(join(product.folder, "go"), "");
  await product.start();
  await product.ready();
  await until(() => lines("plugin.ran").length === 4, "both handed over again");
  const told = lines("plugin.ran").map((line) => line.split(" "));
  for (const point of ["file.changed", "event:deploy"]) {
    const own = told.filter(([name]) => name === point);
    expect(own.map(([, attempt]) => attempt)).toEqual(["1", "2"]);
    expect(new Set(own.map(([, , dispatch]) => dispatch)).size).toBe(1);
  }
  for (const id of ["on-file", "on-event"]) {
    expect(await product.ended(id)).toMatchObject([{ status: "interrupted", attempt: 1 }]);
    expect(lines(`${id}.ran`)).toHaveLength(1);
  }
  const end = () => /"Hook \\"beside\\" ([\w ]+) at/.exec(product.output())?.[1];
  await until(end, "the end of the hook that nothing waits for");
  expect(end()).toBe("was interrupted");
  // What started both as stored runs happened once.
  expect((await product.ended("watch")).length + (await product.ended("deploys")).length).toBe(2);
});

it("a hook that the dispatch waits for, and that a stop cuts off, is called again after the start", {
  timeout: 120_000,
}, async () => {
  const waits = (id: string, on: string) => ({
    ...{ id, on, execution: "deadline", timeout: "5m" },
    run: { shell: { sh: `echo x >> ${id}.ran; until [ -e go ]; do sleep 0.05; done` } },
  });
  product = await startProduct({
    gateway: { shutdown_timeout: "500ms" },
    hooks: [
      { id: "deploys", trigger: { event: "deploy" }, run: { shell: { sh: "cat > /dev/null" } } },
      waits("on-message", "message_received"),
      waits("on-event", "event:deploy"),
    ],
  });
  await product.say("hello");
  await product.event({ branch: "main" });
  await until(() => lines("on-message.ran").length === 1 && lines("on-event.ran").length === 1, "both under way");
  await product.stop();
  writeFileSync(join(product.folder, "go"), "");
  await product.start();
  await product.ready();
  for (const id of ["on-message", "on-event"]) {
    await until(async () => (await product.ended(id)).some(({ status }) => status === "succeeded"), `the end of ${id}`);
    expect(lines(`${id}.ran`)).toHaveLength(2);
  }
});
