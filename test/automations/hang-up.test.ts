/** SIGHUP and operator-defined hooks, with the watch on files off: what a service's `reload` does. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { linesOf } from "../support/lines.js";
import { until } from "../support/until.js";
import { startProduct } from "./product.js";

it("SIGHUP applies changed hooks; a broken one is reported and stops no other", async () => {
  const hook = (id: string, on = "message_received") => ({
    id,
    on,
    run: { shell: { sh: `echo ${id} >> heard.log` } },
  });
  const product = await startProduct({ automations: { watch: false }, hooks: [hook("first")] });
  const file = join(product.folder, "hookgate.yaml");
  const config = JSON.parse(readFileSync(file, "utf8"));
  const write = (hooks: unknown[]) => writeFileSync(file, JSON.stringify({ ...config, hooks }));
  const heard = () => linesOf(join(product.folder, "heard.log"));
  try {
    write([hook("second")]);
    await product.say("still the first");
    await product.ended("first");
    product.hangUp();
    await until(() => product.output().includes("Reloaded"), "the reload");
    await product.say("now the second");
    await product.ended("second");
    write([hook("third"), hook("broken", "mesage_received")]);
    product.hangUp();
    await until(() => product.output().includes("mesage_received"), "the report");
    await product.say("now the third");
    await product.ended("third");
    expect(heard()).toEqual(["first", "second", "third"]);
  } finally {
    await product.close();
  }
});
