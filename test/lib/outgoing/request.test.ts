/** Requests to places that others name: real servers on loopback, which count as "inside" until they are allowed. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseDestinations } from "../../../src/lib/outgoing/destinations.js";
import { guardedRequest } from "../../../src/lib/outgoing/request.js";

interface Server {
  port: number;
  asked: { method?: string; url?: string; headers: IncomingMessage["headers"]; body: string }[];
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(answer: Answer, host = "127.0.0.1", port = 0): Promise<Server> {
  const asked: Server["asked"] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    asked.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

const ok: Answer = (_, response) => void response.end("ok");
const refused = { code: "OUTGOING_REFUSED", retryable: false };

describe("a request is refused before anything is written", () => {
  it("to loopback, however its address is spelt", async () => {
    const inside = await serve(ok);
    const spellings = ["127.0.0.1", "2130706433", "0177.0.0.1", "0x7f.1", "0x7f000001", "127.1", "[::ffff:127.0.0.1]"];
    for (const host of [...spellings, "localhost"])
      await expect(guardedRequest(`http://${host}:${inside.port}/`), host).rejects.toMatchObject(refused);
    expect(inside.asked).toEqual([]);
  });

  it("to metadata, private, shared and unrouted addresses", async () => {
    const hosts = ["169.254.169.254", "2852039166", "0xa9fea9fe", "[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]"];
    hosts.push("10.0.0.1", "100.64.0.1", "0.0.0.0", "[::]", "[fd00:ec2::254]", "[fe80::1]", "255.255.255.255");
    for (const host of hosts) await expect(guardedRequest(`http://${host}/`), host).rejects.toMatchObject(refused);
    await expect(guardedRequest("https://192.168.0.1/")).rejects.toMatchObject(refused);
  });

  it("to a name that resolves to such an address, even when its other addresses are public", async () => {
    const inside = await serve(ok);
    const resolve = async () => ["8.8.8.8", "127.0.0.1"];
    await expect(guardedRequest(`http://files.example:${inside.port}/`, { resolve })).rejects.toMatchObject({
      ...refused,
      message: "files.example (127.0.0.1) is not a public address: loopback",
    });
    expect(inside.asked).toEqual([]);
  });

  it("over anything but http and https", async () => {
    for (const url of ["ftp://example.org/", "file:///etc/passwd", "no address", ""])
      await expect(guardedRequest(url), url).rejects.toMatchObject(refused);
  });
});

it("connects to the address that was checked, whatever the name resolves to a moment later", async () => {
  const allowed = await serve((_, response) => void response.end("checked"), "127.0.0.2");
  const trap = await serve(ok, "127.0.0.1", allowed.port);
  const answers = [["127.0.0.2"], ["127.0.0.1"]];
  let lookups = 0;
  const resolve = async () => answers[lookups++] ?? [];
  const options = { resolve, allow: parseDestinations(["127.0.0.2"]) };
  const url = `http://rebind.example:${allowed.port}/`;
  expect(String((await guardedRequest(url, options)).body)).toBe("checked");
  expect(lookups).toBe(1);
  await expect(guardedRequest(url, options)).rejects.toMatchObject(refused);
  expect(trap.asked).toEqual([]);
});

describe("a redirect", () => {
  it("to the inside is refused, by address and by name", async () => {
    const inside = await serve(ok, "127.0.0.1");
    const places = [
      `http://127.0.0.1:${inside.port}/`,
      `//0x7f.1:${inside.port}/`,
      `http://name.example:${inside.port}/`,
    ];
    const outside = await serve(
      (request, response) => void response.writeHead(302, { location: places[Number(request.url?.slice(1))] }).end(),
      "127.0.0.2",
    );
    const options = { allow: parseDestinations(["127.0.0.2"]), resolve: async () => ["127.0.0.1"] };
    for (const index of places.keys())
      await expect(guardedRequest(`http://127.0.0.2:${outside.port}/${index}`, options)).rejects.toMatchObject(refused);
    expect(outside.asked).toHaveLength(3);
    expect(inside.asked).toEqual([]);
  });

  it("is followed a bounded number of times, and is itself the answer when none may be followed", async () => {
    const circle = await serve((_, response) => void response.writeHead(307, { location: "/again" }).end());
    const options = { allow: parseDestinations(["127.0.0.1"]), redirects: 2 };
    await expect(guardedRequest(`http://127.0.0.1:${circle.port}/`, options)).rejects.toMatchObject({
      code: "OUTGOING_REDIRECTS",
    });
    expect(circle.asked).toHaveLength(3);
    const answer = await guardedRequest(`http://127.0.0.1:${circle.port}/`, { ...options, redirects: 0 });
    expect(answer).toMatchObject({ status: 307, headers: { location: "/again" } });
  });

  it("repeats the request on 307, reads the place that a 303 names, follows no 302 after a POST, and tells another origin no credentials", async () => {
    const other = await serve(ok, "127.0.0.2");
    const first = await serve((request, response) => {
      if (request.url === "/see") return void response.writeHead(303, { location: "/there" }).end();
      if (request.url === "/moved") return void response.writeHead(302, { location: "/there" }).end();
      if (request.url === "/there") return void response.end("ok");
      response.writeHead(307, { location: `http://127.0.0.2:${other.port}/` }).end();
    });
    const options = {
      allow: parseDestinations(["127.0.0.0/8"]),
      method: "POST" as const,
      headers: { Authorization: "secret", "X-Key": "secret", "content-type": "text/plain" },
      body: "payload",
    };
    await guardedRequest(`http://127.0.0.1:${first.port}/`, options);
    expect(other.asked).toMatchObject([{ method: "POST", body: "payload", headers: { "content-type": "text/plain" } }]);
    expect(JSON.stringify(other.asked)).not.toContain("secret");
    const moved = await guardedRequest(`http://127.0.0.1:${first.port}/moved`, options);
    expect(moved).toMatchObject({ status: 302, url: `http://127.0.0.1:${first.port}/moved` });
    expect(first.asked.at(-1)).toMatchObject({ method: "POST", body: "payload" });
    const seen = await guardedRequest(`http://127.0.0.1:${first.port}/see`, options);
    expect(seen).toMatchObject({ status: 200, url: `http://127.0.0.1:${first.port}/there` });
    expect(first.asked.at(-1)).toMatchObject({ method: "GET", url: "/there", body: "" });
    const { body: _, ...read } = { ...options, method: "GET" as const };
    await guardedRequest(`http://127.0.0.1:${first.port}/moved`, read);
    expect(first.asked.at(-1)).toMatchObject({ method: "GET", url: "/there", headers: { authorization: "secret" } });
  });
});

describe("an allowed place", () => {
  it("is reached by name, and gives status, headers and body", async () => {
    const server = await serve((_, response) => {
      response.writeHead(418, { "X-Two": ["a", "b"] }).end("teapot");
    });
    const url = `http://pots.internal:${server.port}/`;
    const options = { allow: parseDestinations(["pots.internal"]), resolve: async () => ["127.0.0.1"] };
    const { status, headers, body, truncated } = await guardedRequest(url, options);
    expect({ status, body: String(body), truncated }).toEqual({ status: 418, body: "teapot", truncated: false });
    expect(headers["x-two"]).toBe("a, b");
  });

  it("is read up to the limit, to the byte", async () => {
    const server = await serve((_, response) => void response.end("12345"));
    const url = `http://127.0.0.1:${server.port}/`;
    const read = (maxBytes: number) => guardedRequest(url, { allow: parseDestinations(["127.0.0.1"]), maxBytes });
    expect(await read(5)).toMatchObject({ truncated: false });
    const cut = await read(4);
    expect({ body: String(cut.body), truncated: cut.truncated }).toEqual({ body: "1234", truncated: true });
  });

  it("that is silent, or never ends, is left after the time allowed for everything", async () => {
    const silent = await serve(() => {});
    const endless = await serve((_, response) => void response.writeHead(200).write("and so on"));
    for (const { port } of [silent, endless])
      await expect(
        guardedRequest(`http://127.0.0.1:${port}/`, { allow: parseDestinations(["127.0.0.1"]), timeoutMs: 150 }),
      ).rejects.toMatchObject({ code: "OUTGOING_TIMED_OUT", retryable: true });
    for (const { port } of [silent, endless])
      await expect(
        guardedRequest(`http://127.0.0.1:${port}/`, { allow: parseDestinations(["127.0.0.1"]), silenceMs: 150 }),
      ).rejects.toMatchObject({ code: "OUTGOING_TIMED_OUT", message: expect.stringContaining("within 150 ms") });
  });

  it("that cannot be reached may be tried again; an aborted request ends with the signal's reason", async () => {
    const server = await serve(() => {});
    const allow = parseDestinations(["127.0.0.1", "gone.internal"]);
    const resolve = async () => [];
    await expect(guardedRequest("http://gone.internal/?key=secret", { allow, resolve })).rejects.toMatchObject({
      code: "OUTGOING_FAILED",
      retryable: true,
      message: expect.not.stringContaining("secret"),
    });
    const stopping = new AbortController();
    const pending = guardedRequest(`http://127.0.0.1:${server.port}/`, { allow, signal: stopping.signal });
    stopping.abort(new Error("stopping"));
    await expect(pending).rejects.toThrow("stopping");
  });
});
