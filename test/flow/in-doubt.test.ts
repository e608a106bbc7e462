/** A request that takes effect and gets no answer, and is refused when it is repeated: nothing shows twice. The whole gateway on the loopback platforms. */

import { resolve } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { FaultAction } from "../fakes/discord/faults.js";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { invoke, type Stack, startStack } from "./stack.js";

const IN_DOUBT = "may or may not have arrived";
const EMPTY = { kind: "garble", body: "" } as const;
const refusal = (status: number, code: number, message: string): FaultAction => ({
  kind: "status",
  status,
  body: { code, message },
});

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    withFlow: false,
    config: ({ discord }) => ({
      gateway: { outbox_attempts: 3, retry_first: "50ms", retry_max: "200ms" },
      orchestrator: {
        runners: { gardener: { person: { user: `discord:${discord.userId}`, at: `discord::${discord.channelId}` } } },
      },
    }),
    plugins: [resolve(import.meta.dirname, "../fixtures/plugins/changes.mjs")],
  });
}, 120_000);
afterAll(() => stack.stop());
afterEach(() => {
  stack.discord.faults.clear();
});

interface Letter {
  id: string;
  reason: string;
}

async function heldLetters(): Promise<Letter[]> {
  const { letters = [] } = (await invoke(stack.gateway.url, "/outbox list held")).data as { letters?: Letter[] };
  return letters;
}

const newestHeld = async () => (await heldLetters())[0]?.id;

let before: string | undefined;
beforeEach(async () => {
  before = await newestHeld();
});

/** Resolves with the newest message that is held, once it is another one than before the test. */
async function held(): Promise<string> {
  const [letter] = await until(async () => {
    const letters = await heldLetters();
    return letters[0]?.id === before ? undefined : letters;
  }, "a message that is held in doubt");
  return JSON.stringify(letter);
}

describe("an answer to a command", () => {
  it.each<[string, FaultAction, FaultAction]>([
    ["the reply is gone", EMPTY, refusal(404, 10008, "Unknown Message")],
    ["the webhook is unknown", { kind: "drop-after" }, refusal(404, 10015, "Unknown Webhook")],
    ["the token has run out", { kind: "drop-after" }, refusal(401, 50027, "Invalid Webhook Token")],
    ["access is missing", EMPTY, refusal(403, 50001, "Missing Access")],
  ])("is held when, at its next try, %s", async (_, lost, refused) => {
    const { discord } = stack;
    discord.fail({ method: "PATCH", path: "^/webhooks/", action: lost });
    discord.fail({ method: "PATCH", path: "^/webhooks/", action: refused });
    const callsBefore = discord.calls.length;
    discord.people.slash("status");
    expect(await held()).toContain(IN_DOUBT);
    const calls = discord.calls.slice(callsBefore);
    expect(calls.filter(({ method, path }) => method === "PATCH" && path.endsWith("original"))).toHaveLength(2);
    expect(calls.filter(({ method, path }) => method === "POST" && path.startsWith("/webhooks/"))).toEqual([]);
    // Who asked reads that in a private message, which takes the place of no answer.
    const isTold = ({ body }: { body: unknown }) =>
      JSON.stringify(body ?? "").includes("It is not known whether its answer was posted");
    const told = await until(() => discord.calls.slice(callsBefore).find(isTold), "the person being told");
    expect(told.method).toBe("POST");
  });
});

describe("a change of a message", () => {
  const locked = refusal(400, 50083, "Thread is archived");

  it.each<[string, FaultAction]>([
    ["it is another author's", refusal(403, 50005, "Cannot edit a message authored by another user")],
    ["it was deleted", refusal(404, 10008, "Unknown Message")],
    ["its thread is locked", locked],
  ])("of Discord is held when, at its next try, %s", async (_, refused) => {
    const { discord, platforms } = stack;
    const { id } = discord.world.addChannel({ type: 0, name: "changes" });
    const room = { chatId: id };
    const texts = async () => (await platforms.discord.seen(room)).map(({ text }) => text);
    await platforms.discord.say(room, "guest", "post first");
    await until(async () => (await texts()).includes("first"), "the message");
    discord.fail({ method: "PATCH", path: `^/channels/${id}/messages/`, action: EMPTY });
    discord.fail({ method: "PATCH", path: `^/channels/${id}/messages/`, action: refused });
    discord.fail({ method: "PATCH", path: `^/channels/${id}$`, action: refusal(403, 50013, "Missing Permissions") });
    await platforms.discord.say(room, "guest", "change second");
    expect(await held()).toContain(IN_DOUBT);
    expect(await texts()).toEqual(["second"]);
  });

  it.each(["TOPIC_CLOSED", "message can't be edited", "MESSAGE_ID_INVALID"])(
    "of Telegram is held when its next try is refused: %s",
    async (description) => {
      const { telegram, platforms } = stack;
      const [room] = platforms.telegram.places;
      const texts = async () => (await platforms.telegram.seen(room)).map(({ text }) => text);
      const [first, second] = [`first of ${description}`, `second of ${description}`];
      await platforms.telegram.say(room, "guest", `post ${first}`);
      await until(async () => (await texts()).includes(first), "the message");
      telegram.fail({ method: "editMessageText", action: EMPTY });
      const action = { kind: "refuse", status: 400, description: `Bad Request: ${description}` } as const;
      telegram.fail({ method: "editMessageText", action });
      await platforms.telegram.say(room, "guest", `change ${second}`);
      expect(await held()).toContain(IN_DOUBT);
      expect((await texts()).filter((text) => text === first || text === second)).toEqual([second]);
    },
  );

  it("of Telegram that is refused at once is posted anew, and the message that is left is deleted", async () => {
    const { telegram, platforms } = stack;
    const [room] = platforms.telegram.places;
    const texts = async () => (await platforms.telegram.seen(room)).map(({ text }) => text);
    await platforms.telegram.say(room, "guest", "post left there");
    await until(async () => (await texts()).includes("left there"), "the message");
    const description = "Bad Request: message can't be edited";
    telegram.fail({ method: "editMessageText", action: { kind: "refuse", status: 400, description } });
    await platforms.telegram.say(room, "guest", "change posted anew");
    await until(async () => !(await texts()).includes("left there"), "the deletion");
    expect(await texts()).toContain("posted anew");
  });

  it("is repeated more often than a new message: the card of a task shows its end", async () => {
    const { discord, platforms, gateway } = stack;
    const [room] = platforms.discord.places;
    const { id } = (await invoke(gateway.url, "/task add gardener Water the plants")).data as { id: string };
    const card = async () => (await platforms.discord.seen(room)).find(({ text }) => text.includes("Water the plants"));
    await until(card, "the card");
    const action = { kind: "status", status: 503, body: {} } as const;
    discord.fail({ method: "PATCH", path: "^/channels/[0-9]+/messages/", action, times: 6 });
    await invoke(gateway.url, `/task cancel ${id} yes=true`);
    await until(async () => (await card())?.text.includes("cancelled"), "the card showing the end");
    expect(await newestHeld()).toBe(before);
  });

  it("that was held goes with what it was when a newer one is sent", async () => {
    const { discord, platforms } = stack;
    const { id } = discord.world.addChannel({ type: 0, name: "newer" });
    const room = { chatId: id };
    const texts = async () => (await platforms.discord.seen(room)).map(({ text }) => text);
    await platforms.discord.say(room, "guest", "post first");
    await until(async () => (await texts()).includes("first"), "the message");
    discord.fail({ method: "PATCH", path: `^/channels/${id}/messages/`, action: EMPTY });
    discord.fail({ method: "PATCH", path: `^/channels/${id}/messages/`, action: refusal(403, 50005, "Not yours") });
    await platforms.discord.say(room, "guest", "change second");
    await held();
    await platforms.discord.say(room, "guest", "change third");
    await until(async () => (await texts()).includes("third"), "the newer change");
    await until(async () => (await newestHeld()) === before, "the older change being superseded");
    expect(await texts()).toEqual(["third"]);
  });
});

it("a message that an operator withdraws between two tries may have arrived: every answer about it says so", async () => {
  const { discord, platforms, gateway, stop } = await startStack({
    withFlow: false,
    plugins: [resolve(import.meta.dirname, "../fixtures/plugins/changes.mjs")],
    config: () => ({ gateway: { retry_first: "10m" } }),
  });
  afterTest(stop);
  const { id: chatId } = discord.world.addChannel({ type: 0, name: "withdrawn" });
  discord.fail({ method: "POST", path: `^/channels/${chatId}/messages$`, times: 9, action: { kind: "drop-after" } });
  await platforms.discord.say({ chatId }, "guest", "post words");
  const ask = async (line: string) => (await invoke(gateway.url, line)).text;
  const id = await until(async () => {
    const { letters } = (await invoke(gateway.url, "/outbox list sending")).data as { letters: Letter[] };
    return letters.find(({ reason = "" }) => reason.includes(IN_DOUBT))?.id;
  }, "a message in doubt that is tried again");
  expect((await platforms.discord.seen({ chatId })).map(({ text }) => text)).toEqual(["words"]);
  const asked = await ask(`/outbox purge ${id}`);
  expect(asked).toContain("It **may have arrived**: it was sent and no answer came. Look in the chat.");
  expect(asked).not.toContain("It waits for its turn");
  expect(await ask(`/outbox purge ${id} yes=true`)).toContain("**may have arrived**");
  expect(await ask(`/outbox show ${id}`)).toMatch(
    /\*\*cancelled\*\*: withdrawn by .*not known.*\*\*may have arrived\*\*/s,
  );
  expect(await ask("/outbox list cancelled")).toMatch(/cancelled\? .*may or may not have arrived.*look in the chat/s);
  const why = await ask(`/hooks why ${id}`);
  expect(why).toMatch(/withdrawn by .*may or may not have arrived/);
  expect(why).not.toContain("it was not sent.");
  // Its row goes with a second purge: the audit keeps the doubt.
  expect(await ask(`/outbox purge ${id}`)).toContain("It will not be sent again");
  await ask(`/outbox purge ${id} yes=true`);
  expect(await ask(`/hooks why ${id}`)).toContain(IN_DOUBT);
});

it.each<FaultAction>([EMPTY, { kind: "drop-after" }])(
  "a card that is refused at its next try goes as text under the same nonce, which Discord drops (%j)",
  async (lost) => {
    const { discord, platforms } = stack;
    const { id } = discord.world.addChannel({ type: 0, name: "cards" });
    const room = { chatId: id };
    discord.fail({ method: "POST", path: `^/channels/${id}/messages$`, action: lost });
    discord.fail({
      method: "POST",
      path: `^/channels/${id}/messages$`,
      action: refusal(403, 50013, "Missing Permissions"),
    });
    await platforms.discord.say(room, "guest", "card words");
    const posts = () =>
      discord.calls.filter(({ method, path }) => method === "POST" && path === `/channels/${id}/messages`);
    await until(() => posts().length === 3, "three requests");
    await until(() => posts()[2]?.status === 200, "the last being answered");
    const nonces = posts().map(({ body }) => (body as { nonce?: string }).nonce);
    expect(new Set(nonces).size).toBe(1);
    expect(await platforms.discord.seen(room)).toHaveLength(1);
  },
);
