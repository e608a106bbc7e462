/** Webhook mode, mounted on a real HTTP server as `src/http` mounts it. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { telegramConfig } from "../../../adapters/telegram/config.js";
import { telegramOptions } from "../../../adapters/telegram/options.js";
import type { TelegramAdapter } from "../../../adapters/telegram/telegram.js";
import { ManualClock } from "../../support/manual-clock.js";
import { until } from "../../support/until.js";
import { gate, newFake, Recorder, startAdapter } from "./harness.js";

const SECRET = "a-webhook-secret-for-tests";

/** Answers with what the adapter says, and 503 when it rejects. */
async function mount(): Promise<{ url: string; statuses: number[]; adapter?: TelegramAdapter }> {
  const statuses: number[] = [];
  const mounted: { url: string; statuses: number[]; adapter?: TelegramAdapter } = { url: "", statuses };
  const server = createServer(async (request, response) => {
    const body = await read(request);
    const status = (await mounted.adapter?.webhook(request.headers, body).catch(() => 503)) ?? 503;
    statuses.push(status);
    response.writeHead(status).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  mounted.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/telegram/webhook`;
  return mounted;
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function startWebhook(setup: Parameters<typeof startAdapter>[0] = {}) {
  const mounted = await mount();
  const config = { mode: "webhook" as const, webhook: { url: mounted.url } };
  const running = await startAdapter({ ...setup, config, secret: SECRET });
  mounted.adapter = running.adapter;
  return { ...running, mounted, config };
}

describe("webhook", () => {
  it("receives updates, presses and reactions by call", async () => {
    const { fake, events } = await startWebhook();
    const { message_id } = fake.people.says("hello", { dm: true });
    fake.people.reacts(message_id, ["🔥"], { chatId: fake.userId });
    expect((await events(2)).map(({ kind }) => kind).toSorted()).toEqual(["message", "reaction"]);
    await until(() => fake.updates.pending.length === 0);
  });

  it("answers only when the update is on disk", async () => {
    const gateway = new Recorder();
    const { wait, open } = gate();
    gateway.hold = () => wait;
    const { fake, mounted } = await startWebhook({ gateway });
    fake.people.says("slow", { dm: true });
    await until(() => fake.updates.handedOver === 1);
    expect(mounted.statuses).toEqual([]);
    open();
    await until(() => mounted.statuses.length === 1);
    expect(mounted.statuses).toEqual([200]);
    await until(() => fake.updates.confirmed === 1);
  });

  it("is called again when the store refused, and stores it once", async () => {
    const gateway = new Recorder();
    let tries = 0;
    gateway.hold = async () => {
      if (++tries <= 2) throw new Error("the store is locked");
    };
    const { fake, events, mounted } = await startWebhook({ gateway });
    fake.people.says("again", { dm: true });
    await events(1);
    await until(() => fake.updates.confirmed === 1);
    expect(mounted.statuses).toEqual([503, 503, 200]);
    expect(fake.updates.webhookInfo()).toMatchObject({ last_error_message: expect.stringContaining("503") });
  });

  it("keeps the order of a chat across redelivery", async () => {
    const gateway = new Recorder();
    let tries = 0;
    gateway.hold = async () => {
      if (++tries % 3 === 1) throw new Error("the store is locked");
    };
    const { fake, events } = await startWebhook({ gateway });
    for (let i = 0; i < 8; i++) fake.people.says(String(i), { dm: true });
    const texts = (await events(8)).map((event) => (event.kind === "message" ? event.message.text : ""));
    expect(texts).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
  });

  it.each([
    ["no secret", {}],
    ["a wrong secret", { "x-telegram-bot-api-secret-token": "a-webhook-secret-for-tesTs" }],
    ["two secrets", { "x-telegram-bot-api-secret-token": [SECRET, SECRET] }],
  ])("refuses a call with %s", async (_, headers) => {
    const { adapter, gateway } = await startWebhook();
    expect(await adapter.webhook(headers, { update_id: 1, message: {} })).toBe(401);
    expect(gateway.events).toEqual([]);
  });

  it("takes a malformed update off Telegram's hands, and refuses what is no JSON", async () => {
    const { adapter, lines } = await startWebhook();
    const headers = { "x-telegram-bot-api-secret-token": SECRET };
    expect(await adapter.webhook(headers, { update_id: 5, message: { text: 7 } })).toBe(200);
    expect(await adapter.webhook(headers, Buffer.from("{"))).toBe(400);
    expect(lines.join("\n")).toContain("not understood");
  });

  it("is set once, and anew when the address or the secret changes", async () => {
    const { fake, stop, cursors, config, mounted } = await startWebhook();
    await stop();
    const sets = () => fake.callsOf("setWebhook").length;
    expect(sets()).toBe(1);
    const again = await startAdapter({ fake, cursors, config, secret: SECRET });
    expect(sets()).toBe(1);
    await again.stop();
    const other = await startAdapter({ fake, cursors, config, secret: "another-secret-for-tests" });
    expect(sets()).toBe(2);
    mounted.adapter = other.adapter;
    fake.people.says("with the new secret", { dm: true });
    await other.events(1);
  });

  it("stays set on stop, so that Telegram keeps what comes meanwhile", async () => {
    const { fake, stop, cursors, config, mounted } = await startWebhook();
    await stop();
    fake.people.says("while away", { dm: true });
    await until(() => mounted.statuses.includes(503));
    const again = await startAdapter({ fake, cursors, config, secret: SECRET });
    mounted.adapter = again.adapter;
    expect(await again.events(1)).toMatchObject([{ message: { text: "while away" } }]);
  });

  it("is taken away by us when the mode changes to polling", async () => {
    const { fake, stop, cursors } = await startWebhook();
    await stop();
    const polling = await startAdapter({ fake, cursors });
    expect(fake.updates.webhook).toBeUndefined();
    fake.people.says("polled", { dm: true });
    await polling.events(1);
  });

  it("reports calls that do not arrive, and that they arrive again", async () => {
    const clock = new ManualClock(Date.now());
    const { fake, gateway, mounted } = await startWebhook({ clock });
    const { adapter } = mounted;
    delete mounted.adapter;
    fake.updates.redeliverAfterMs = 200;
    fake.people.says("lost", { dm: true });
    await until(() => mounted.statuses.length > 0);
    await clock.advance(60_000);
    await until(() => gateway.phase === "reconnecting");
    expect(gateway.states.at(-1)?.reason).toContain("503");
    if (adapter) mounted.adapter = adapter;
    await until(() => fake.updates.pending.length === 0);
    await clock.advance(60_000);
    await until(() => gateway.phase === "online");
  });

  it.each([
    ["taken away", "", "took Telegram's webhook away"],
    ["set elsewhere", "http://127.0.0.1:9/path-that-is-secret", "set Telegram's webhook to 127.0.0.1:9"],
  ])("is set again when another program has it %s, and a fight over it is reported", async (_, url, reason) => {
    const clock = new ManualClock(Date.now());
    const { fake, gateway, mounted, events, lines } = await startWebhook({ clock });
    const sets = () => fake.callsOf("setWebhook").length;
    fake.updates.setWebhook({ url });
    fake.people.says("while it was away", { dm: true });
    await clock.advance(60_000);
    await events(1);
    await until(() => gateway.phase === "online");
    expect(gateway.states.at(-1)).toMatchObject({ reason: expect.stringContaining("it is set again") });
    expect(fake.updates.webhook).toMatchObject({ url: mounted.url, secret: SECRET });
    expect(lines.join("\n")).toContain(reason);
    expect(lines.join("\n")).not.toContain("path-that-is-secret");
    fake.updates.setWebhook({ url });
    await clock.advance(60_000);
    await until(() => sets() === 3);
    expect(gateway.states.at(-1)).toMatchObject({
      phase: "reconnecting",
      reason: expect.stringContaining(reason),
      hint: expect.stringContaining("token of its own"),
    });
    await until(() => fake.updates.webhook?.url === mounted.url);
    await clock.advance(60_000);
    await until(() => gateway.phase === "online");
    expect(gateway.states.at(-1)?.hint).toBeUndefined();
    expect(sets()).toBe(3);
  });

  it("is tried again in a minute when it cannot be set again, and counts as away until then", async () => {
    const clock = new ManualClock(Date.now());
    const { fake, gateway, mounted, lines } = await startWebhook({ clock });
    fake.updates.deleteWebhook({});
    fake.fail({ method: "setWebhook", action: { kind: "refuse", status: 500, description: "Internal Server Error" } });
    await clock.advance(60_000);
    await until(() => lines.join("\n").includes("could not be looked at or set again"));
    expect(gateway.phase).toBe("reconnecting");
    await clock.advance(60_000);
    await until(() => fake.updates.webhook?.url === mounted.url);
  });

  it("is set again after the time that Telegram asks for, and says when", async () => {
    const clock = new ManualClock(Date.now());
    const { fake, gateway, mounted } = await startWebhook({ clock });
    fake.updates.deleteWebhook({});
    const limit = { status: 429, description: "Too Many Requests: retry after 4", parameters: { retry_after: 4 } };
    fake.fail({ method: "setWebhook", action: { kind: "refuse", ...limit } });
    await clock.advance(60_000);
    await until(() => gateway.states.at(-1)?.reason?.includes("the next try is in 4 s") === true);
    expect(gateway.states.at(-1)).toMatchObject({ phase: "reconnecting", hint: expect.stringContaining("token") });
    await clock.advance(4_000);
    await until(() => fake.updates.webhook?.url === mounted.url);
    await until(() => gateway.phase === "online");
  });

  it("is set again when calls come with another program's secret", async () => {
    const clock = new ManualClock(Date.now());
    const { fake, gateway, mounted, events } = await startWebhook({ clock });
    fake.updates.setWebhook({ url: mounted.url, secret_token: "a-secret-of-another" });
    fake.people.says("refused at first", { dm: true });
    await until(() => mounted.statuses.includes(401));
    await clock.advance(60_000);
    expect(await events(1)).toMatchObject([{ message: { text: "refused at first" } }]);
    expect(gateway.states.some(({ hint }) => hint?.includes("secret"))).toBe(true);
    await until(() => fake.updates.pending.length === 0);
    await clock.advance(60_000);
    await until(() => gateway.phase === "online");
  });

  it("goes offline when its token is withdrawn", async () => {
    const clock = new ManualClock(Date.now());
    const { fake, ended } = await startWebhook({ clock });
    fake.fail({
      method: "getWebhookInfo|getMe",
      times: 100,
      action: { kind: "refuse", status: 401, description: "Unauthorized" },
    });
    await clock.advance(60_000);
    expect(await ended).toMatchObject({ code: "TELEGRAM_TOKEN_REFUSED", retryable: false });
  });

  it("goes offline as soon as a send finds its token withdrawn", async () => {
    const { fake, ended, say } = await startWebhook({ clock: new ManualClock(Date.now()) });
    const action = { kind: "refuse", status: 401, description: "Unauthorized" } as const;
    fake.fail({ method: "sendMessage|getMe", times: 100, action });
    expect(await say({ text: "x" })).toMatchObject([{ kind: "retry", scope: "bot" }]);
    expect(await ended).toMatchObject({ code: "TELEGRAM_TOKEN_REFUSED", retryable: false });
  });

  it("cannot be configured without an address and a secret", () => {
    const config = telegramConfig.parse({ mode: "webhook" });
    expect(() => telegramOptions(config, { token: "1:a" })).toThrow(/telegram.webhook.url and TELEGRAM_WEBHOOK_SECRET/);
  });

  it("answers 503 when it does not run or does not use webhooks", async () => {
    const fake = await newFake();
    const { adapter } = await startAdapter({ fake });
    expect(await adapter.webhook({ "x-telegram-bot-api-secret-token": "" }, {})).toBe(503);
  });
});
