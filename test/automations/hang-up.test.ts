/** SIGHUP and configured hooks, with the watch on files off: what a service's `reload` does. */
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

it("a reload reads .env again: a new variable and a changed one are used; a removed one needs a restart", async () => {
  const hook = (id: string, secret: string) => ({
    id,
    on: "message_received",
    run: { shell: { sh: `echo "${id} $${secret}" >> heard.log`, secrets: [secret] } },
  });
  const product = await startProduct(
    { automations: { watch: false }, hooks: [hook("first", "OLD_KEY"), hook("given", "GIVEN_KEY")] },
    { GIVEN_KEY: "given to the process" },
    (folder) => writeFileSync(join(folder, ".env"), "OLD_KEY=the first value\n", { mode: 0o600 }),
  );
  const dotEnv = (text: string) => writeFileSync(join(product.folder, ".env"), text);
  const file = join(product.folder, "hookgate.yaml");
  const config = JSON.parse(readFileSync(file, "utf8"));
  const heard = () => linesOf(join(product.folder, "heard.log")).sort();
  try {
    dotEnv("OLD_KEY=the second value\nNEW_KEY=a new value\nGIVEN_KEY=not used\n");
    writeFileSync(file, JSON.stringify({ ...config, hooks: [...config.hooks, hook("second", "NEW_KEY")] }));
    product.hangUp();
    await until(() => product.output().includes("Reloaded: 0 plugins, 3 configured hooks"), "the reload");
    await product.say("hello");
    await Promise.all(["first", "given", "second"].map((id) => product.ended(id)));
    expect(heard()).toEqual(["first the second value", "given given to the process", "second a new value"]);
    expect(product.output()).not.toContain("Restart required");
    dotEnv("NEW_KEY=a new value\n");
    product.hangUp();
    await until(() => product.output().includes("Restart required to apply: OLD_KEY."), "the need of a restart");
  } finally {
    await product.close();
  }
});

it("a saved .env is applied without a signal, and the report tells what is in force from what is not", async () => {
  const shell = { sh: 'echo "$KEY" >> heard.log', secrets: ["KEY"] };
  const dotEnv = (folder: string, value: string) =>
    writeFileSync(join(folder, ".env"), `KEY=${value}\n`, { mode: 0o600 });
  const product = await startProduct(
    { hooks: [{ id: "first", on: "message_received", run: { shell } }] },
    {},
    (folder) => dotEnv(folder, "the first value"),
  );
  try {
    const heard = () => linesOf(join(product.folder, "heard.log"));
    dotEnv(product.folder, "the second value");
    await until(async () => {
      await product.say("hello");
      return heard().includes("the second value");
    }, "the new value being used");
    const file = join(product.folder, "hookgate.yaml");
    const config = JSON.parse(readFileSync(file, "utf8"));
    const lacking = { id: "second", on: "message_received", run: { chat: { to: "web:web:nowhere", text: "x" } } };
    writeFileSync(file, JSON.stringify({ ...config, hooks: [...config.hooks, lacking] }));
    product.hangUp();
    await until(() => product.output().includes("These hooks were applied and lack something"), "the report");
    expect(product.output()).not.toContain("Not applied");
  } finally {
    await product.close();
  }
});
