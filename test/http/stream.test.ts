import { createServer, get, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { streamChanges } from "../../src/http/stream.js";
import { ada, bob, openWebChat } from "../adapters/web/web-chat.js";
import { until } from "../support/until.js";
import { readEvents } from "./event-reader.js";

let chat: Awaited<ReturnType<typeof openWebChat>>;
let server: Server;
let stopping: AbortController;
let url: string;
/** Bytes that wait in the server for a page that does not read. */
let waiting = () => 0;

beforeEach(async () => {
  chat = await openWebChat();
  stopping = new AbortController();
  server = createServer((request, response) => {
    const after = new URL(request.url ?? "", "http://localhost").searchParams.get("after");
    waiting = () => response.writableLength;
    void streamChanges({
      port: chat.port,
      person: ada,
      response,
      after: after === null ? undefined : Number(after),
      clock: chat.clock,
      signal: stopping.signal,
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  stopping.abort();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await chat.close();
});

const post = (text: string) => chat.post({ text });

describe("live changes", () => {
  it("go on after the last one that the page saw: each once, in order", async () => {
    await post("before");
    const first = await readEvents(`${url}?after=0`);
    await until(() => first.events.length >= 2);
    await post("live");
    await until(() => first.events.length >= 3);
    first.close();
    for (const text of ["missed 1", "missed 2"]) await post(text);
    const last = first.events.at(-1)?.id;
    const second = await readEvents(`${url}?after=${last}`);
    await until(() => second.events.length >= 3);
    await post("after");
    await until(() => second.events.length >= 4);
    const texts = [...first.events, ...second.events].filter(({ event }) => event === "message");
    expect(texts.map(({ data }) => data.text)).toEqual(["before", "live", "missed 1", "missed 2", "after"]);
    expect(second.events[0]?.event).toBe("hello");
  });

  it("without a place begin with what comes next", async () => {
    await post("old");
    const { events } = await readEvents(url);
    await until(() => events.length === 1);
    await post("new");
    await until(() => events.length === 2);
    expect(events.map(({ event, data }) => data.text ?? event)).toEqual(["hello", "new"]);
  });

  it("make a page load anew that comes from another database or is far behind", async () => {
    await post("one");
    const { events } = await readEvents(`${url}?after=999`);
    await until(() => events.length === 1);
    expect(events).toMatchObject([{ event: "reset", id: "1" }]);
  });

  it("show a page nothing that is not for it", async () => {
    const { events } = await readEvents(`${url}?after=0`);
    await chat.port.say(bob, { roomId: "dm-2", text: "Bob's own", attachments: [], nonce: "nonce-bob" });
    await chat.post({ text: "for Bob" }, { visibleTo: bob.id });
    await post("for all");
    await until(() => events.some(({ event }) => event === "message"));
    expect(events.filter(({ event }) => event === "message").map(({ data }) => data.text)).toEqual(["for all"]);
  });

  it("give a sign of life, and tell of new rooms", async () => {
    const { events } = await readEvents(url);
    await until(() => events.length === 1);
    await chat.clock.advance(15_000);
    await until(() => events.length === 2);
    await chat.clock.advance(15_000);
    await until(() => events.length === 3);
    await chat.port.createRoom(bob, "New");
    await until(() => events.length === 4);
    expect(events.map(({ event }) => event)).toEqual(["hello", "heartbeat", "heartbeat", "rooms"]);
  });

  it("end when the server stops, and forget pages that have gone", async () => {
    const { ended, close } = await readEvents(url);
    stopping.abort();
    await ended;
    close();
    await new Promise<void>((resolve) => {
      const request = get(url, (response) => response.destroy());
      request.on("close", resolve);
      request.on("error", () => resolve());
    });
    await post("nobody listens");
  });

  it("do not pile up in memory for a page that does not read", async () => {
    const socket: Socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.pause();
    socket.write(`GET /?after=0 HTTP/1.1\r\nHost: x\r\n\r\n`);
    const count = 150;
    const text = "x".repeat(100_000);
    for (let n = 0; n < count; n++) await chat.store.web.post({ roomId: "general", text, at: n }, `big ${n}`);
    await post("wake up");
    await until(() => waiting() > 0);
    for (let n = 0; n < 20; n++) await post(`more ${n}`);
    expect(waiting()).toBeLessThan(5 * text.length);
    let received = 0;
    socket.on("data", (chunk) => {
      received += chunk.length;
    });
    socket.resume();
    await until(() => received > count * text.length);
    socket.destroy();
  });
});
