/** What waited to be handled when the process ended is handled at once at the next start: SLA clocks see it as everything else. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { invoke, startStack } from "./stack.js";

const FIRST = {
  id: "first",
  for: "conversation",
  measure: "first_response",
  target: "1h",
  match: 'entity.facts.platform == "telegram"',
};

/** Its claiming hook is quick once the file `go` is there, and before that takes for ever. */
const longPlugin = (begun: string, go: string) => `import { existsSync, writeFileSync } from "node:fs";
export default { id: "long", setup({ hooks }) {
  hooks.registerClaiming("inbound_claim", async ({ message }) => {
    if (message.platform === "web" || existsSync(${JSON.stringify(go)})) return null;
    writeFileSync(${JSON.stringify(begun)}, "");
    await new Promise(() => {});
  }, { timeoutMs: 60_000 });
} };`;

it("a question and an answer whose handling a kill cuts off start and stop the clock of the customer", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-waiting-"));
  afterTest(() => rmSync(folder, { recursive: true, force: true }));
  const module = join(folder, "long.mjs");
  const [begun, go] = [join(folder, "begun"), join(folder, "go")];
  writeFileSync(module, longPlugin(begun, go));
  const stack = await startStack({
    withFlow: false,
    config: ({ discord }) => ({
      gateway: { default_route: { forward: `discord::${discord.channelId}` } },
      sla: { policies: [FIRST] },
      plugins: [{ module }],
    }),
  });
  afterTest(() => stack.stop());
  const { gateway, platforms, discord } = stack;
  const [, customers] = platforms.telegram.places;
  const desk = { chatId: discord.channelId };
  const ask = async (line: string) => (await invoke(gateway.url, line)).text.replace(/[\\`*]/g, "");
  const cutOff = async () => {
    await until(() => existsSync(begun), "the hook");
    await gateway.kill();
    writeFileSync(go, "");
    await gateway.start();
    await gateway.ready();
  };
  await platforms.telegram.say(customers, "guest", "Where is my parcel?");
  await cutOff();
  const copy = await until(
    async () => (await platforms.discord.seen(desk)).find(({ text }) => /parcel/.test(text)),
    "the copy",
  );
  await until(async () => /1 open clock/.test(await ask("/sla list")), "the clock");

  rmSync(begun);
  rmSync(go);
  await platforms.discord.say(desk, "owner", "On its way", { replyToId: copy.id });
  await cutOff();
  const isThere = ({ text }: { text: string }) => text.includes("On its way");
  await until(async () => (await platforms.telegram.seen(customers)).some(isThere), "the answer");
  await until(async () => (await ask("/sla list")).includes("No clock is running"), "the end of the clock");
  expect(await ask("/sla report 7")).toMatch(/1 target met or missed, 100 % met/);
});
