/** Reminders and escalations that wait for their platform while an operator takes, mutes or ends the alert. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { PersonAction } from "../../src/alerts/act.js";
import type { Delivery } from "../../src/domain/store.js";
import { LoopbackPlatform } from "../gateway/loopback-adapter.js";
import { until } from "../support/until.js";
import { ADMINS, ANN, HOUR, MINUTE, START, signal, type Watch, watch } from "./watch.js";

const ROOM = "loop:bot:room";
const config = (more: Record<string, unknown> = {}) => ({
  routes: { default: { to: [ROOM], remind: { times: 0 }, escalate: [{ after: "10m", mention: ["loop:7"] }], ...more } },
});
const PAGE = /Escalated|Not acknowledged for/;
const pages = (on: Watch, place = ROOM) =>
  on
    .posted(place)
    .filter(({ text }) => PAGE.test(text) && !/Owner:|No owner/.test(text))
    .map(({ text }) => text);
const waiting = async (on: Watch) => {
  const { waiting, sending } = await on.rig.store.outbox.counts();
  return waiting + sending;
};

const isOpenPage = ({ status, message }: Delivery) =>
  (status === "waiting" || status === "sending") && message !== undefined && /Escalated: step/.test(message.text);

/** Minutes pass; a paused chat is never idle. */
async function pass(on: Watch, minutes: number): Promise<void> {
  for (let n = 0; n < minutes; n++) {
    await on.clock.advance(MINUTE);
    await calm(on);
  }
}

async function calm(on: Watch): Promise<void> {
  let calmFor = 0;
  await until(async () => {
    await on.clock.advance(0);
    const { sending } = await on.rig.gateway.status();
    const { active, waiting } = on.alerts.depth;
    calmFor = sending.active + sending.waiting + active + waiting === 0 ? calmFor + 1 : 0;
    return calmFor > 3;
  }, "everything that can be told being told");
}

/** The chat refuses the first page and takes nothing for an hour after that. The page was asked for 11 minutes after the start. */
async function paused(more: Record<string, unknown> = {}): Promise<{ on: Watch; id: string }> {
  const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
  let isOpen = true;
  platform.script = (operation) => {
    if (!isOpen || operation.kind !== "create" || !PAGE.test(operation.part.text)) return undefined;
    isOpen = false;
    return { kind: "retry", error: "429", afterMs: HOUR, scope: "chat" };
  };
  const on = await watch({ ...config(more), fallback_after: "3h" }, platform);
  const { id } = await on.raise();
  await pass(on, 11);
  expect(isOpen).toBe(false);
  expect(await waiting(on)).toBe(1);
  return { on, id };
}

describe("a page that waits for its platform", () => {
  it.each<[string, PersonAction]>([
    ["acknowledged", { kind: "ack" }],
    ["snoozed", { kind: "snooze", until: START + 5 * HOUR }],
    ["resolved", { kind: "resolve", reason: "fixed" }],
  ])("is withdrawn when its alert is %s", async (_, action) => {
    const { on, id } = await paused();
    await on.alerts.act(id, action, ANN);
    await calm(on);
    const cancelled = await on.rig.store.outbox.list({ status: "cancelled", limit: 5 });
    // The first was refused with the pause; the one in its place is taken back.
    expect(cancelled.map(({ reason }) => reason).sort()).toEqual([
      "its alerts were acknowledged, snoozed or muted, or they ended",
      "its chat is paused: it is written again, with the time when it was due",
    ]);
    await pass(on, 70);
    expect(await waiting(on)).toBe(0);
    expect(pages(on)).toEqual([]);
    // The history does not say that somebody was called; what waits for the end of an acknowledgement may still be posted.
    const history = (await on.alerts.history(id)).filter(({ event }) => event === "unposted");
    expect(history.map(({ reason }) => reason)).toEqual(
      action.kind === "resolve"
        ? [`${ROOM} did not get "Escalated: step 1 of 1 (loop:7)": the alert had ended before it was posted`]
        : [],
    );
    const { card } = await on.alerts.details(id, ROOM);
    expect(card?.fields?.find(({ name }) => name === "Not posted yet")?.value).toBe(
      action.kind === "resolve"
        ? undefined
        : `The page in ${ROOM} is posted only if the alert needs an operator again.`,
    );
    // Its card alone shows what happened.
    expect(on.posted()).toHaveLength(1);
    expect(on.posted()[0]?.edits).toBeGreaterThan(0);
  });

  it("is withdrawn with the reminders that wait behind it", async () => {
    const { on, id } = await paused({ remind: { every: "15m", times: 3 } });
    await pass(on, 20);
    expect(await waiting(on)).toBeGreaterThan(1);
    await on.alerts.act(id, { kind: "ack" }, ANN);
    await pass(on, 90);
    expect(await waiting(on)).toBe(0);
    expect(on.posted()).toHaveLength(1);
  });

  it("is posted once when the acknowledgement lapses, also after a crash, and is not called late", async () => {
    const { on, id } = await paused();
    await on.alerts.act(id, { kind: "ack", untilAt: on.clock.now() + 2 * HOUR }, ANN);
    await calm(on);
    await on.crash();
    await pass(on, 119);
    expect(pages(on)).toEqual([]);
    await pass(on, 5);
    expect(pages(on)).toEqual([expect.stringMatching(/Escalated: step 1 of 1/)]);
    expect(pages(on)[0]).not.toContain("late:");
    await pass(on, 30);
    expect(pages(on)).toHaveLength(1);
    expect(on.posted().flatMap(({ body }) => body.mentions ?? [])).toEqual([{ users: ["7"] }]);
  });

  it("is posted once when the snooze ends, beside the message that says so", async () => {
    const { on, id } = await paused();
    await on.alerts.act(id, { kind: "snooze", until: on.clock.now() + 2 * HOUR }, ANN);
    await pass(on, 125);
    expect(pages(on)).toHaveLength(1);
    expect(on.posted().some(({ text }) => text.includes("The snooze ended"))).toBe(true);
  });

  it("is posted when an operator asks for the next step after the acknowledgement, with that step", async () => {
    const { on, id } = await paused({ escalate: [{ after: "10m", mention: ["loop:7"] }, { after: "5h" }] });
    await on.alerts.act(id, { kind: "ack" }, ANN);
    await calm(on);
    await on.alerts.act(id, { kind: "escalate" }, ANN);
    await pass(on, 70);
    // The change of the card that waited, too, closes them right after that.
    const asked = on.platform.requests.filter(({ kind }) => kind === "create").slice(2);
    const texts = asked.map((one) => (one.kind === "create" ? one.part.text : ""));
    expect(texts.join("\n")).toMatch(/step 1 of 2[\s\S]*step 2 of 2/);
  });

  it("stays while another alert of the same message needs an operator", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    platform.script = (operation) =>
      operation.kind === "create" && PAGE.test(operation.part.text)
        ? { kind: "retry", error: "429", afterMs: HOUR, scope: "chat" }
        : undefined;
    const on = await watch({ ...config({ alone: 20 }), fallback_after: "3h" }, platform);
    for (const name of ["a", "b", "c", "d", "e"])
      await on.alerts.raise(signal({ fingerprint: name, title: `Reply to ${name}`, at: on.clock.now() }));
    await pass(on, 11);
    const open = async () => (await on.rig.store.outbox.list({ limit: 50 })).filter(isOpenPage).length;
    expect(await open()).toBe(1);
    const [last = "", ...others] = (await on.alerts.list({ open: true, limit: 9 })).map(({ id }) => id);
    expect(others).toHaveLength(4);
    for (const id of others) await on.alerts.act(id, { kind: "ack" }, ANN);
    await pass(on, 2);
    expect(await open()).toBe(1);
    await on.alerts.act(last, { kind: "ack" }, ANN);
    await pass(on, 2);
    expect(await open()).toBe(0);
  });
});

describe("a page that its webhook does not take", () => {
  const servers: { close(): void }[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  it("is not sent while an operator has the alert, and is again when the acknowledgement lapses", async () => {
    let status = 503;
    let calls = 0;
    const taken: unknown[] = [];
    const server = createServer(async (request, response) => {
      calls++;
      let body = "";
      for await (const chunk of request) body += String(chunk);
      if (status === 204) taken.push(JSON.parse(body));
      response.writeHead(status).end();
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    servers.push({
      close() {
        server.closeAllConnections();
        server.close();
      },
    });
    const webhook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/page`;
    const on = await watch(config({ escalate: [{ webhook }] }));
    const { id } = await on.raise();
    await until(() => calls > 0, "the first try");
    await on.alerts.act(id, { kind: "ack", untilAt: on.clock.now() + HOUR }, ANN);
    await on.settle();
    status = 204;
    await on.advance(50 * MINUTE);
    expect(taken).toEqual([]);
    await on.advance(12 * MINUTE);
    expect(taken).toMatchObject([{ kind: "escalation", alerts: [{ id, state: "firing" }] }]);
    expect(pages(on, ADMINS)).toEqual([]);
  });
});
