import { mkdirSync, rmdirSync, statSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { BOB, OWNER, type RunningApp, runApp } from "./running-app.js";

let app: RunningApp;
beforeAll(async () => {
  app = await runApp({ web: { rooms_per_person: 2 } });
});
afterAll(() => app.close());

let nonces = 0;
const nonce = () => `nonce-${++nonces}-long`;
const say = (token: string, room: string, text: string, more: object = {}) =>
  app.call(token, "POST", `/api/rooms/${room}/messages`, { text, nonce: nonce(), ...more });
const messages = async (token: string, room: string) =>
  (await app.call(token, "GET", `/api/rooms/${room}/messages?limit=200`)).body.messages;

/** A request with headers that fetch would not let through. */
function raw(
  method: string,
  path: string,
  headers: Record<string, string>,
  body = "",
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(app.url);
    const sent = request({ hostname, port, method, path, headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

async function login(token: string, more: object = {}) {
  const answer = await app.call(undefined, "POST", "/api/login", { token, ...more });
  const page = { "x-hookgate-page": String(answer.body?.pageKey ?? "") };
  return { ...answer, cookie: answer.headers.get("set-cookie")?.split(";")[0] ?? "", page };
}

describe("an address without anything", () => {
  it("leads a browser to the chat, and answers programs with JSON", async () => {
    const visit = await app.call(undefined, "GET", "/nosuch", undefined, { accept: "text/html,*/*;q=0.8" });
    expect(visit.status).toBe(404);
    expect(visit.headers.get("content-type")).toContain("text/html");
    expect(visit.body).toContain('<a href="/">');
    for (const [path, accept] of [
      ["/nosuch", "*/*"],
      ["/api/nosuch", "text/html"],
    ] as const) {
      const { status, body } = await app.call(undefined, "GET", path, undefined, { accept });
      expect(status).toBe(404);
      expect(body.error.code).toBe("ROUTE_NOT_FOUND");
    }
  });
});

describe("who may come in", () => {
  it("is nobody without a token, and nobody with a wrong one", async () => {
    for (const token of [undefined, "wrong", `${OWNER}x`]) {
      const { status, body } = await app.call(token, "GET", "/api/me");
      expect([status, Object.keys(body.error)]).toEqual([401, ["code", "message", "hint"]]);
    }
  });

  it("tells who one is: the owner by the console's token, others without a role", async () => {
    expect((await app.call(OWNER, "GET", "/api/me")).body).toMatchObject({ person: { id: "1" }, role: "owner" });
    expect((await app.call(BOB, "GET", "/api/me")).body).toMatchObject({
      person: { id: "2", name: "Bob" },
      role: null,
    });
  });

  it("keeps the chosen name and the numeric id", async () => {
    const { body, cookie, page } = await login(OWNER, { name: "  Ada  " });
    expect(body).toEqual({ person: { id: "1", name: "Ada" }, pageKey: page["x-hookgate-page"] });
    const me = await raw("GET", "/api/me", { cookie, ...page });
    expect(JSON.parse(me.text).person).toEqual({ id: "1", name: "Ada" });
    expect((await app.call(OWNER, "PATCH", "/api/me", { name: "" })).status).toBe(400);
    expect((await app.call(OWNER, "PATCH", "/api/me", { name: "Grace" })).body.person).toEqual({
      id: "1",
      name: "Grace",
    });
  });

  it("refuses a name that people would take for somebody else's, or that cannot be seen, and says why", async () => {
    const rename = async (name: string) => (await app.call(BOB, "PATCH", "/api/me", { name })).body;
    const taken = { error: { code: "NAME_TAKEN", message: expect.stringContaining("is the name of") } };
    for (const name of [
      "Grace",
      "GRACE",
      "Ｇrace",
      "𝐆race",
      "Owner",
      "hookgate",
      "Grace ✓",
      "Grace (owner)",
      "G\u0280\u1d00ce",
    ])
      expect(await rename(name)).toMatchObject(taken);
    const refused = { error: { code: "NAME_REFUSED" } };
    for (const name of [
      "web:1",
      "Web\uff1a1",
      " discord : 80351110224678912",
      "Gra\u200bce",
      "\u202eecarG",
      "Bo\u2066b",
      "\u3164",
      "\u2800 ",
      "G\u00adrace",
      "Gra\u200dce",
      "Gra\nce",
      "Gra\tce",
      "Gra\rce",
      "Gra\u0085ce",
      "Gra\u2028ce",
      "Gra\u2029ce",
      "Gr\u0430ce",
      "Grac\u03b5",
      // Lisu, New Tai Lue, Tifinagh, Malayalam, Osage.
      "\ua4f3wner",
      "\u19d0wner",
      "\u2d54lga",
      "\u0d20lga",
      "\u{104c2}lga",
    ])
      expect(await rename(name)).toMatchObject(refused);
    for (const [name, status] of [
      ["Grace", 409],
      ["\u3164", 400],
    ] as const)
      expect(await login(BOB, { name })).toMatchObject({ status, cookie: "" });
    for (const name of [
      "Bob",
      "Bob  B.",
      "José",
      "Команда DevOps",
      "Ελένη",
      "علی\u200cرضا",
      "👩\u200d🔬 Ann",
      "Tシャツ屋",
      "Ann2",
    ])
      expect(await rename(name)).toMatchObject({ person: { id: "2" } });
    expect(await rename("Bob")).toEqual({ person: { id: "2", name: "Bob" } });
  });

  it("refuses a name of another alphabet, or of other strokes, that is drawn as another person's or room's", async () => {
    const like = async (name: string, of: string) => {
      await app.call(OWNER, "PATCH", "/api/me", { name: of });
      const { status, body } = await app.call(BOB, "PATCH", "/api/me", { name });
      expect([status, body.error?.message], name).toEqual([
        409,
        `"${name}" looks like "${of}", which is the name of another person`,
      ]);
    };
    await like("\u0421\u043e\u0441\u043e", "Coco");
    await like("\u0392\u039f\u039d", "BON");
    await like("AIice", "Alice");
    for (const name of ["O pal", "Opal.", "Ópal"]) await like(name, "Opal");
    await like("\u026a\u0280\u1d07\u0274e", "Irene");
    await like("Pau\u029f", "Paul");
    await like("Zo\u00e9 0", "Zo\u00e9 O");
    await app.call(OWNER, "PATCH", "/api/me", { name: "Lan" });
    for (const name of ["Ian", "\u0412\u043e\u0432\u0430", "Bob"])
      expect(await app.call(BOB, "PATCH", "/api/me", { name })).toMatchObject({ status: 200 });
    await app.call(OWNER, "PATCH", "/api/me", { name: "Grace" });
    const room = await app.call(BOB, "POST", "/api/rooms", { name: "Gen\uff45ra1" });
    expect([room.status, room.body.error.message]).toEqual([
      409,
      '"Gen\uff45ra1" looks like the room "General": choose another name',
    ]);
  });

  it("gives a cookie that scripts and other sites cannot use, and believes no forged one", async () => {
    const { headers, cookie, page } = await login(BOB);
    expect(headers.get("set-cookie")).toMatch(/HttpOnly; SameSite=Strict/);
    expect(headers.get("set-cookie")).not.toContain(BOB);
    expect((await raw("GET", "/api/me", { cookie, ...page })).status).toBe(200);
    const [name, value = ""] = cookie.split("=");
    const forged = [
      value.replace(/^2\./, "1."),
      value.replace(/\.(\d+)\./, ".9999999999999."),
      value.slice(0, -1),
      "2..x",
    ];
    for (const one of forged)
      expect((await raw("GET", "/api/me", { cookie: `${name}=${one}`, ...page })).status).toBe(401);
  });

  it("believes no cookie without the key of its page, which browsers send to no other port of this host", async () => {
    const { cookie, page } = await login(BOB);
    const key = page["x-hookgate-page"];
    const other = (await login(OWNER)).page["x-hookgate-page"];
    expect((await raw("GET", `/api/me?page=${key}`, { cookie })).status).toBe(200);
    for (const path of ["/api/me", `/api/me?page=${other}`, "/api/me?page=", `/api/me?page=${key}&page=${key}`]) {
      const { status, text } = await raw("GET", path, { cookie });
      expect([status, text]).toEqual([401, expect.stringContaining("this login lacks the key of its page")]);
    }
  });

  it("lets a cookie speak only for our own page", async () => {
    const { cookie, page } = await login(BOB);
    const body = JSON.stringify({ text: "by whom?", nonce: nonce() });
    const post = (headers: Record<string, string>) =>
      raw(
        "POST",
        "/api/rooms/general/messages",
        { cookie, ...page, "content-type": "application/json", ...headers },
        body,
      );
    const foreign: Record<string, string>[] = [
      {},
      { origin: "http://evil.example" },
      { origin: "null" },
      { origin: "http://127.0.0.1:1" },
    ];
    for (const headers of foreign) expect((await post(headers)).status).toBe(403);
    expect((await post({ origin: app.url, "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await post({ origin: app.url, "sec-fetch-site": "same-origin" })).status).toBe(201);
  });

  it("answers under its own names only, against DNS rebinding", async () => {
    const authorization = `Bearer ${OWNER}`;
    for (const host of ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80"]) {
      const { status, text } = await raw("GET", "/api/me", { host, authorization });
      expect([status, JSON.parse(text).error.code]).toEqual([403, "HOST_UNKNOWN"]);
      expect((await raw("GET", "/", { host })).status).toBe(403);
    }
    expect((await raw("GET", "/api/me", { host: "localhost:1234", authorization })).status).toBe(200);
    expect((await raw("GET", "/healthz", { host: "10.0.0.7" })).status).toBe(200);
  });

  it("serves the page under a policy that runs nothing but its own scripts", async () => {
    const page = await app.call(undefined, "GET", "/");
    // A page of before an update does not load the scripts of after it.
    expect(page.headers.get("cache-control")).toBe("no-cache");
    expect(page.body).toContain("<title>Hookgate</title>");
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toContain("unsafe");
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    for (const path of ["/../package.json", "/%2e%2e/config.ts", "/..%2fconfig.ts"])
      expect((await raw("GET", path, { host: "localhost" })).status).toBeGreaterThanOrEqual(400);
  });
});

describe("the chat over HTTP", () => {
  it("says something, and the answer of a hook comes back", async () => {
    const { status, body } = await say(OWNER, "dm-1", "echo **hi**");
    expect([status, body.message.text]).toEqual([201, "echo **hi**"]);
    const answer = await until(async () =>
      (await messages(OWNER, "dm-1")).find((one: { author: { id?: string } }) => !one.author.id),
    );
    expect(answer).toMatchObject({ text: "hi", html: "<p><strong>hi</strong></p>", author: { name: "Hookgate" } });
  });

  it("says it once when the same request comes again", async () => {
    const body = { text: "echo again", nonce: nonce() };
    const ids = [];
    for (let n = 0; n < 3; n++)
      ids.push((await app.call(BOB, "POST", "/api/rooms/dm-2/messages", body)).body.message.id);
    expect(new Set(ids).size).toBe(1);
    const answers = await until(async () => {
      const found = (await messages(BOB, "dm-2")).filter((one: { text: string }) => one.text === "again");
      return found.length > 0 && found;
    });
    expect(answers).toHaveLength(1);
  });

  it("edits, reacts and deletes", async () => {
    const { id } = (await say(BOB, "general", "befor")).body.message;
    expect((await app.call(BOB, "PATCH", `/api/messages/${id}`, { text: "before", nonce: nonce() })).status).toBe(200);
    expect((await app.call(OWNER, "PATCH", `/api/messages/${id}`, { text: "x", nonce: nonce() })).status).toBe(403);
    const reacted = await app.call(OWNER, "PUT", `/api/messages/${id}/reactions`, { emoji: "👍🏽", on: true });
    expect(reacted.body.message).toMatchObject({ text: "before", reactions: [{ emoji: "👍🏽", userIds: ["1"] }] });
    expect((await app.call(OWNER, "PUT", `/api/messages/${id}/reactions`, { emoji: "<b>", on: true })).status).toBe(
      400,
    );
    expect((await app.call(BOB, "DELETE", `/api/messages/${id}`)).body.message).toMatchObject({ isDeleted: true });
    expect((await app.call(BOB, "DELETE", "/api/messages/123456")).status).toBe(404);
  });

  it("presses buttons: a text through the hooks, a command, a form", async () => {
    await say(OWNER, "dm-1", "card");
    const card = await until(async () => (await messages(OWNER, "dm-1")).find((one: { card?: unknown }) => one.card));
    const token = (label: string) =>
      card.buttons.flat().find((button: { label: string }) => button.label === label).token;
    const press = (label: string, more: object = {}) =>
      app.call(OWNER, "POST", `/api/messages/${card.id}/press`, { token: token(label), nonce: nonce(), ...more });
    expect((await press("Say it")).body).toEqual({});
    await until(async () => (await messages(OWNER, "dm-1")).some((one: { text: string }) => one.text === "pressed"));
    for (const made of ["made-up", "made.up", `${token("Say it")}x`]) {
      const forged = await app.call(OWNER, "POST", `/api/messages/${card.id}/press`, { token: made, nonce: nonce() });
      expect([forged.status, forged.body.error.message]).toEqual([404, "this button has expired"]);
    }
    const asked = await press("Ask");
    expect(asked.body.form).toMatchObject({ title: "Help with what?" });
    for (const [other, values] of [
      ["from", { command: "whoami", from: "Explanations" }],
      ["other", { other: "x" }],
    ] as const) {
      await press("Ask", { values });
      const refused = () => messages(OWNER, "dm-1").then((all: { text: string }[]) => all.at(-1)?.text);
      await until(async () => (await refused())?.includes(`this button has no field "${other}"`));
    }
    const before = (await messages(OWNER, "dm-1")).length;
    const sentIn = await app.call(OWNER, "POST", `/api/messages/${card.id}/press`, {
      token: asked.body.token,
      nonce: nonce(),
      values: { command: "whoami" },
    });
    expect(sentIn.status).toBe(200);
    await until(async () => (await messages(OWNER, "dm-1")).length > before);
    expect((await messages(OWNER, "dm-1")).at(-1).text).toContain("whoami");
  });

  it("carries files both ways, and serves nothing of others as a page of ours", async () => {
    const upload = async (token: string, name: string, type: string, bytes: string) =>
      fetch(`${app.url}/api/uploads?filename=${encodeURIComponent(name)}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": type },
        body: bytes,
      }).then((response) => response.json() as Promise<{ upload: { id: string } }>);
    const { upload: file } = await upload(BOB, "../../e vil.html", "text/html", "<script>alert(1)</script>");
    expect(file).toMatchObject({ filename: "e vil.html", sizeBytes: 25, type: "file" });
    // Its name would read "eexe.png".
    const turned = await upload(BOB, "e\u202egnp.exe", "application/octet-stream", "x");
    expect(turned.upload).toMatchObject({ filename: "egnp.exe" });
    expect((await say(OWNER, "general", "x", { uploads: [file.id] })).body.error.code).toBe("FILE_NOT_FOUND");
    const { message } = (await say(BOB, "general", "", { uploads: [file.id] })).body;
    const response = await fetch(`${app.url}${message.attachments[0].url}`, {
      headers: { authorization: `Bearer ${OWNER}` },
    });
    expect(await response.text()).toBe("<script>alert(1)</script>");
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
    expect(response.headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''e%20vil.html");

    await say(OWNER, "dm-1", "file");
    const sent = await until(async () =>
      (await messages(OWNER, "dm-1")).find((one: { text: string }) => one.text === "here it is"),
    );
    expect((await app.call(OWNER, "GET", sent.attachments[0].url)).body).toBe("hello");
    expect((await app.call(BOB, "GET", sent.attachments[0].url)).status).toBe(404);
  });

  it("posts no message with a file that it could not note as sent: the file would be removed as unsent", async () => {
    const uploaded = await fetch(`${app.url}/api/uploads?filename=a.txt`, {
      method: "POST",
      headers: { authorization: `Bearer ${BOB}`, "content-type": "text/plain" },
      body: "x",
    });
    const { upload } = (await uploaded.json()) as { upload: { id: string } };
    const noted = join(app.folder, "uploads", `${upload.id}.json`);
    const body = { text: "with a file", nonce: nonce(), uploads: [upload.id] };
    const post = () => app.call(BOB, "POST", "/api/rooms/general/messages", body);
    mkdirSync(noted);
    expect((await post()).status).toBe(500);
    rmdirSync(noted);
    const { status, body: posted } = await post();
    expect([status, posted.message.text]).toEqual([201, "with a file"]);
    expect(statSync(noted).isFile()).toBe(true);
    // The same message again: its file is noted already.
    expect((await post()).body.message.id).toBe(posted.message.id);
  });

  it("refuses what is too large, malformed or of an unknown shape, and says what was expected", async () => {
    const wrong: [unknown, number, string][] = [
      [{ text: "x".repeat(1_000_000), nonce: nonce() }, 413, "TOO_LARGE"],
      [{ text: "x".repeat(400_000), nonce: nonce() }, 413, "TEXT_TOO_LONG"],
      [{ text: 5, nonce: nonce() }, 400, "BODY_INVALID"],
      [{ text: "x" }, 400, "BODY_INVALID"],
      [{ text: "x", nonce: nonce(), surprise: 1 }, 400, "BODY_INVALID"],
      [{ text: "x", nonce: nonce(), threadId: "99999" }, 404, "MESSAGE_NOT_FOUND"],
    ];
    for (const [body, status, code] of wrong) {
      const answer = await app.call(OWNER, "POST", "/api/rooms/general/messages", body);
      expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    }
    const headers = { authorization: `Bearer ${OWNER}`, "content-type": "application/json" };
    expect((await raw("POST", "/api/rooms/general/messages", headers, "{not json")).status).toBe(400);
    expect(
      (await raw("POST", "/api/rooms/general/messages", { ...headers, "content-type": "text/xml" }, "<a/>")).status,
    ).toBe(415);
    expect((await say(OWNER, "nowhere", "hi")).status).toBe(404);
    expect((await app.call(OWNER, "GET", "/api/nothing")).body.error.code).toBe("ROUTE_NOT_FOUND");
  });

  it("makes rooms", async () => {
    expect((await app.call(BOB, "POST", "/api/rooms", { name: "Night shift" })).body.room.id).toBe("night-shift");
    expect((await app.call(OWNER, "POST", "/api/rooms", { name: "night shift" })).status).toBe(409);
    // Names that people would read as another room's, or as the gateway's direct conversation.
    for (const name of ["\uff2eight shift", "Hookgate"])
      expect((await app.call(BOB, "POST", "/api/rooms", { name })).status, name).toBe(409);
    for (const name of ["Night\u200b shift", "\u202etfihs thgiN", "\u3164"])
      expect((await app.call(BOB, "POST", "/api/rooms", { name })).status, name).toBe(400);
    const { rooms } = (await app.call(OWNER, "GET", "/api/rooms")).body;
    expect(rooms.map(({ id }: { id: string }) => id)).toEqual(["dm-1", "general", "night-shift"]);
  });

  it("bounds the rooms that one person adds, and keeps private answers private in them", async () => {
    expect((await app.call(BOB, "POST", "/api/rooms", { name: "Second" })).status).toBe(201);
    const { status, body } = await app.call(BOB, "POST", "/api/rooms", { name: "Third" });
    expect([status, body.error]).toMatchObject([
      409,
      { code: "TOO_MANY_ROOMS", message: expect.stringContaining("2") },
    ]);
    expect(body.error.hint).toContain("web.rooms_per_person");
    expect((await app.call(OWNER, "POST", "/api/rooms", { name: "Third" })).status).toBe(201);
    await say(BOB, "second", "/hooks");
    const answers = async (token: string) =>
      (await messages(token, "second")).filter(({ isPrivate }: { isPrivate?: boolean }) => isPrivate);
    await until(async () => (await answers(BOB)).length === 1);
    expect(await messages(OWNER, "second")).toHaveLength(1);
  });
});

describe("commands over HTTP", () => {
  it("run by line or by name, as the token's person", async () => {
    const byLine = (await app.call(OWNER, "POST", "/api/command", { line: "/whoami" })).body;
    expect(byLine).toMatchObject({ outcome: "done" });
    expect(byLine.text).toContain("owner");
    const byName = (await app.call(OWNER, "POST", "/api/command", { name: "whoami", options: {} })).body;
    expect(byName.outcome).toBe("done");
    expect((await app.call(BOB, "POST", "/api/command", { line: "hooks" })).body.outcome).toBe("refused");
    expect((await app.call(undefined, "POST", "/api/command", { line: "/whoami" })).status).toBe(401);
    expect((await app.call(OWNER, "POST", "/api/command", { line: "/a", name: "b" })).status).toBe(400);
  });

  it("offer a person without a role the commands of /help, and /task with a first task of their own", async () => {
    const offered = async () => {
      const { commands } = (await app.call(BOB, "GET", "/api/commands")).body;
      return commands.map(({ name }: { name: string }) => name);
    };
    expect(await offered()).toEqual(["help", "whoami", "claim"]);
    const given = await app.call(OWNER, "POST", "/api/command", { line: '/task add person:web:2 "Look at it"' });
    expect(given.body.outcome).toBe("done");
    expect(await offered()).toEqual(["help", "whoami", "claim", "task"]);
  });

  it("offer their table and their values", async () => {
    const { commands } = (await app.call(OWNER, "GET", "/api/commands")).body;
    expect(commands.map(({ name }: { name: string }) => name)).toContain("fire-hook");
    const query = "/api/complete?command=hooks&option=id&typed=page";
    expect((await app.call(OWNER, "GET", query)).body.choices).not.toEqual([]);
    expect((await app.call(BOB, "GET", query)).body.choices).toEqual([]);
  });
});

describe("probes", () => {
  it("tell that it lives, what is ready, and what was counted", async () => {
    expect((await app.call(undefined, "GET", "/healthz")).body).toEqual({ status: "ok" });
    const ready = await app.call(undefined, "GET", "/readyz");
    expect([ready.status, ready.body]).toMatchObject([
      200,
      { ready: true, store: { state: "ok" }, platforms: { web: { state: "online" } } },
    ]);
    const { body } = await app.call(undefined, "GET", "/metrics");
    expect(body).toMatch(/hookgate_events_accepted_total\{platform="web",kind="message"\} [1-9]/);
    expect(body).toMatch(/hookgate_dispatches_total\{point="inbound_claim",outcome="claimed"\} [1-9]/);
    expect(body).toMatch(/hookgate_platform_state\{platform="web",phase="online"\} 1/);
    expect(body).toMatch(/hookgate_outbox_deliveries\{status="sent"\} [1-9]/);
    expect(body).toContain("hookgate_delivery_seconds_bucket");
    expect(body).not.toContain(OWNER);
  });
});

describe("too many logins", () => {
  it("are slowed down", async () => {
    const answers = [];
    for (let n = 0; n < 25; n++) answers.push((await login("guess")).status);
    expect(answers).toContain(401);
    const last = await login("guess");
    expect([last.status, last.body.error.code]).toEqual([429, "RATE_LIMITED"]);
    // On the machine itself the right token is still accepted.
    expect((await login(OWNER)).status).toBe(200);
    expect((await app.call(OWNER, "GET", "/api/me")).status).toBe(200);
  });
});
