import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { readEvents } from "./event-reader.js";
import { BOB, OWNER, type RunningApp, runApp } from "./running-app.js";

let app: RunningApp;
beforeAll(async () => {
  app = await runApp({ http: { metrics_need_token: true } });
});
afterAll(() => app.close());

const bearer = { authorization: `Bearer ${OWNER}` };

describe("a restart", () => {
  it("loses and doubles nothing of the live changes, and keeps sessions", async () => {
    const login = await app.call(undefined, "POST", "/api/login", { token: OWNER });
    const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
    const { seq } = (await app.call(OWNER, "GET", "/api/rooms")).body;
    const first = await readEvents(`${app.url}/api/events?after=${seq}`, bearer);
    for (let n = 0; n < 5; n++)
      await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", { text: `echo ${n}`, nonce: `nonce-${n}-long` });
    // Some answers are still on their way: they come after the restart.
    await app.stop();
    await first.ended;
    await app.start();
    for (let n = 4; n < 8; n++)
      await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", { text: `echo ${n}`, nonce: `nonce-${n}-long` });
    const lastId = first.events.filter(({ id }) => id).at(-1)?.id ?? "";
    const second = await readEvents(`${app.url}/api/events`, { ...bearer, "last-event-id": lastId });
    const texts = () =>
      [...first.events, ...second.events].filter(({ event }) => event === "message").map(({ data }) => data.text);
    await until(() => texts().length >= 16);
    expect(texts().filter((text) => text.startsWith("echo"))).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((n) => `echo ${n}`));
    expect(texts().filter((text) => !text.startsWith("echo"))).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
    second.close();
    const page = String(login.body.pageKey);
    expect((await fetch(`${app.url}/api/me`, { headers: { cookie, "x-hookgate-page": page } })).status).toBe(200);
  });

  it("is not held up by an open page, and the page hears that it ends", async () => {
    const { ended } = await readEvents(`${app.url}/api/events`, bearer);
    // Browsers connect ahead of need.
    const unused = connect(Number(new URL(app.url).port), "127.0.0.1");
    await once(unused, "connect");
    const from = Date.now();
    await app.stop();
    await ended;
    expect(Date.now() - from).toBeLessThan(4000);
    unused.destroy();
    await app.start();
  });
});

describe("metrics behind a token", () => {
  it("are for those who have one", async () => {
    expect((await app.call(undefined, "GET", "/metrics")).status).toBe(401);
    expect((await app.call(BOB, "GET", "/metrics")).status).toBe(200);
  });
});
