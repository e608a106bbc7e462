/** A version of a plugin that was replaced is let go: its memory is free once nothing of it runs. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "vitest";
import { invoke } from "../flow/stack.js";
import { afterTest } from "../support/clean-up.js";
import { gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";

/** Each holds one object in what its setup gives to the gateway. */
const HOLDERS: Readonly<Record<string, string>> = {
  hook: `api.hooks.registerVoid("message_received", () => void big.length, { id: "sees" });`,
  command: `api.commands.register({ name: "size", summary: "The size", role: "anyone", run: () => String(big.length) });`,
  end: "return () => void big.length;",
};
const plugin = (id: string, holds: string, version: number) => `export default { id: "${id}", setup(api) {
  const big = Buffer.alloc(1000, ${version});
  ((globalThis.versions ??= {}).${id} ??= []).push(new WeakRef(big));
  ${holds}
} };`;
const COUNTER = `export default { id: "counter", setup(api) {
  api.commands.register({ name: "versions", summary: "Versions", role: "anyone", async run() {
    for (let round = 0; round < 4; round++) {
      globalThis.gc();
      await new Promise((done) => setImmediate(done));
    }
    const counted = Object.entries(globalThis.versions).map(([id, refs]) =>
      id + " " + refs.filter((ref) => ref.deref() !== undefined).length + "/" + refs.length);
    return counted.sort().join(", ");
  } });
} };`;
const VERSIONS = 5;

it("after a reload, with its handlers, commands and the function that ends it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-released-"));
  const write = (version: number) => {
    for (const [id, holds] of Object.entries(HOLDERS))
      writeFileSync(join(folder, `${id}.mjs`), plugin(id, holds, version));
  };
  write(1);
  writeFileSync(join(folder, "counter.mjs"), COUNTER);
  const gateway = await gatewayProcess({
    folder,
    config: {
      plugins: [...Object.keys(HOLDERS), "counter"].map((id) => `./${id}.mjs`),
      web: { access: { dms: "everyone", chats: ["*"], mention: "always" } },
    },
    flags: ["--expose-gc"],
  });
  afterTest(async () => {
    await gateway.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  await gateway.start();
  await gateway.ready();
  const ask = async (line: string) => (await invoke(gateway.url, line)).text;
  const use = async (version: number) => {
    await fetch(`${gateway.url}/api/rooms/general/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ text: "hello", nonce: `nonce-number-${version}` }),
    });
    await ask("/size");
  };
  for (let version = 2; version <= VERSIONS; version++) {
    await use(version);
    write(version);
    await until(
      async () => (await ask("/versions")).match(new RegExp(`/${version}\\b`, "g"))?.length === 3,
      `version ${version} at work`,
    );
  }
  let seen = "";
  const isLast = async () => {
    seen = await ask("/versions");
    // The kernel may hold one handler that it called.
    return new RegExp(`^command 1/${VERSIONS}, end 1/${VERSIONS}, hook [12]/${VERSIONS}$`).test(seen);
  };
  await until(isLast, () => `no older versions in memory: ${seen}`);
});
