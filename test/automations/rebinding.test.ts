/** Names whose addresses change between two looks, through the started app: its requests ask a real DNS server, which lies. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type FakeDns, fakeDns } from "../fakes/dns.js";
import { liveApp } from "./support/live-app.js";

/** Stands for the public internet: `outgoing.allow` names it. Everything else on loopback is inside. */
const PUBLIC = "127.0.0.2";
const INSIDE = "127.0.0.1";

interface Server {
  port: number;
  asked: string[];
  answer: RequestListener;
  close(): Promise<void>;
}

async function serve(address: string, port = 0): Promise<Server> {
  const asked: string[] = [];
  const made: Server = { port, asked, answer: (_, response) => void response.end("ok"), close: async () => {} };
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    made.answer(request, response);
  });
  await new Promise<void>((listening) => server.listen(port, address, listening));
  made.port = (server.address() as AddressInfo).port;
  made.close = () =>
    new Promise((done) => {
      server.closeAllConnections();
      server.close(() => done());
    });
  return made;
}

let dns: FakeDns;
let outside: Server;
let inside: Server;
beforeAll(async () => {
  dns = await fakeDns();
  outside = await serve(PUBLIC);
  inside = await serve(INSIDE, outside.port);
});
afterAll(() => Promise.all([dns.close(), outside.close(), inside.close()]));
beforeEach(() => {
  outside.asked.length = 0;
  inside.asked.length = 0;
  outside.answer = (_, response) => void response.end("ok");
});

const app = (hooks: readonly Record<string, unknown>[]) =>
  liveApp(
    { "hookgate.yaml": `outgoing: { allow: ["${PUBLIC}"] }\nhooks: ${JSON.stringify(hooks)}\n` },
    { resolve: dns.resolve },
  );

describe("a name whose addresses change", () => {
  const handler = { id: "post", trigger: "manual", run: { http: { url: "", attempts: 2, backoff: "10ms" } } };

  it("is asked for once a connection, and the connection goes to what was judged", async () => {
    const live = await app([{ ...handler, run: { http: { url: `http://rebind.example:${outside.port}/a` } } }]);
    dns.script("rebind.example", [PUBLIC], [INSIDE]);
    expect(await live.fire("post")).toMatchObject({ status: "succeeded" });
    expect([outside.asked, inside.asked, dns.asked]).toEqual([["POST /a"], [], ["rebind.example"]]);
    const second = await live.fire("post");
    expect(second).toMatchObject({ status: "failed", statusReason: expect.stringContaining(INSIDE) });
    expect([outside.asked, inside.asked]).toEqual([["POST /a"], []]);
  });

  it("is judged anew when a request is repeated", async () => {
    const url = `http://rebind.example:${outside.port}/b`;
    const live = await app([{ ...handler, run: { http: { ...handler.run.http, url } } }]);
    outside.answer = (_, response) => void response.writeHead(503).end();
    dns.script("rebind.example", [PUBLIC], [INSIDE]);
    const run = await live.fire("post");
    expect(run).toMatchObject({ status: "failed", statusReason: expect.stringContaining("not a public address") });
    expect([outside.asked, inside.asked]).toEqual([["POST /b"], []]);
  });

  it("is judged on a redirect to it, too", async () => {
    const url = `http://first.example:${outside.port}/c`;
    const live = await app([{ ...handler, run: { http: { url, redirects: 2, attempts: 1 } } }]);
    const location = `http://second.example:${outside.port}/inside`;
    outside.answer = (_, response) => void response.writeHead(307, { location }).end();
    dns.script("first.example", [PUBLIC]);
    dns.script("second.example", [INSIDE]);
    expect(await live.fire("post")).toMatchObject({ status: "failed" });
    expect([outside.asked, inside.asked]).toEqual([["POST /c"], []]);
  });

  it("is refused when one of several addresses is inside, whatever their order", async () => {
    const live = await app([
      { ...handler, run: { http: { url: `http://both.example:${outside.port}/d`, attempts: 1 } } },
    ]);
    for (const answer of [
      [PUBLIC, INSIDE],
      [INSIDE, PUBLIC],
    ]) {
      dns.script("both.example", answer);
      expect(await live.fire("post")).toMatchObject({ status: "failed" });
    }
    expect([outside.asked, inside.asked]).toEqual([[], []]);
  });

  it("does not lead a step inside either", async () => {
    const live = await app([
      {
        id: "look",
        trigger: "manual",
        context: [{ http: { url: `http://rebind.example:${outside.port}/e`, required: true } }],
        run: { chat: { to: "web:web:general", text: "{{ step_0 }}" } },
      },
    ]);
    dns.script("rebind.example", [PUBLIC], [INSIDE]);
    expect(await live.fire("look")).toMatchObject({ status: "succeeded" });
    expect(await live.fire("look")).toMatchObject({ status: "failed", statusReason: expect.stringContaining(INSIDE) });
    expect([outside.asked, inside.asked]).toEqual([["GET /e"], []]);
  });
});
