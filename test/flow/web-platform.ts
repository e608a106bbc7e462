/** A person in the web chat, over real HTTP. */

import { randomUUID } from "node:crypto";
import { definedOf } from "../../src/lib/without-undefined.js";
import { TOKEN } from "../support/gateway-process.js";
import type { FlowPlatform, Place, Seen, Speaker } from "./platform.js";

const TOKENS: Record<Speaker, string> = {
  owner: TOKEN,
  stranger: "the-token-of-a-stranger-01",
  guest: "the-token-of-a-guest-0001",
};

interface PageMessage {
  id: number;
  threadId?: string;
  author: { id?: string };
  text: string;
  isDeleted?: boolean;
  card?: { title?: string; text?: string; fields?: { name: string; html: string }[] };
  buttons?: { label: string; token?: string }[][];
}

export function webPlatform(): FlowPlatform {
  let base = "";
  async function call<T>(who: Speaker, method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(`${base}/api${path}`, {
      method,
      headers: definedOf({
        authorization: `Bearer ${TOKENS[who]}`,
        "content-type": body === undefined ? undefined : "application/json",
      }),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }
  const history = async (place: Place, who: Speaker) =>
    (await call<{ messages: PageMessage[] }>(who, "GET", `/rooms/${place.chatId}/messages?limit=200`)).messages;
  const thread = (place: Place) => (place.threadId === undefined ? {} : { threadId: place.threadId });
  const page: Place = { chatId: "general" };
  const threadPlace: Place = { chatId: "general" };

  return {
    name: "web",
    config: {
      access: { dms: "everyone", chats: ["*"], mention: "always" },
      rooms: [
        { id: "general", name: "General" },
        { id: "second", name: "Second" },
      ],
      people: [
        { id: "2", name: "Mallory", token_env: "STRANGER_TOKEN" },
        { id: "3", name: "Grace", token_env: "GUEST_TOKEN" },
      ],
    },
    env: { STRANGER_TOKEN: TOKENS.stranger, GUEST_TOKEN: TOKENS.guest },
    ownerRef: "web:1",
    places: [page, { chatId: "second" }],
    thread: threadPlace,
    botId: () => "web",
    async begin(url) {
      base = url;
      if (threadPlace.threadId !== undefined) return;
      // A thread hangs under a message.
      const { message } = await call<{ message: PageMessage }>("guest", "POST", "/rooms/general/messages", {
        text: "the first of a thread",
        nonce: randomUUID(),
      });
      threadPlace.threadId = String(message.id);
    },
    end: async () => {},
    async say(place, who, text, facts = {}) {
      const uploads: string[] = [];
      if (facts.attachment) {
        const answer = await fetch(`${base}/api/uploads?filename=note.txt`, {
          method: "POST",
          headers: { authorization: `Bearer ${TOKENS[who]}`, "content-type": "text/plain" },
          body: "a note",
        });
        uploads.push(((await answer.json()) as { upload: { id: string } }).upload.id);
      }
      const { message } = await call<{ message: PageMessage }>(who, "POST", `/rooms/${place.chatId}/messages`, {
        text,
        nonce: randomUUID(),
        ...thread(place),
        replyToId: facts.replyToId ? Number(facts.replyToId) : undefined,
        uploads,
      });
      return String(message.id);
    },
    edit: async (_place, who, id, text) =>
      void (await call(who, "PATCH", `/messages/${id}`, { text, nonce: randomUUID() })),
    remove: async (_place, who, id) => void (await call(who, "DELETE", `/messages/${id}`)),
    react: async (_place, who, id, emoji) =>
      void (await call(who, "PUT", `/messages/${id}/reactions`, { emoji, on: true })),
    async command(place, who, line) {
      await this.say(place, who, line);
    },
    async press(place, who, id, label) {
      const message =
        (await history(place, who)).find((one) => String(one.id) === id) ??
        (await history(place, "owner")).find((one) => String(one.id) === id);
      const token = message?.buttons?.flat().find((one) => one.label === label)?.token;
      if (!token) throw new Error(`no button ${label} on message ${id}`);
      await call(who, "POST", `/messages/${id}/press`, { token, nonce: randomUUID() });
    },
    async fill(place, who, id, label, values) {
      const message = (await history(place, who)).find((one) => String(one.id) === id);
      const token = message?.buttons?.flat().find((one) => one.label === label)?.token;
      const nonce = randomUUID();
      const asked = await call<{ form?: unknown }>(who, "POST", `/messages/${id}/press`, { token, nonce });
      if (asked.form === undefined) throw new Error(`${label} opened no form`);
      await call(who, "POST", `/messages/${id}/press`, { token, nonce: `${nonce}-2`, values });
    },
    async whispers(place, who) {
      const others = who === "owner" ? "guest" : "owner";
      const shown = new Set((await history(place, others)).map(({ id }) => id));
      return (await history(place, who)).filter(({ id }) => !shown.has(id)).map((one) => seenOf(one).text);
    },
    seen: async (place, who = "owner") =>
      (await history(place, who))
        .filter(
          (message) =>
            message.author.id === undefined &&
            !message.isDeleted &&
            (message.threadId ?? "") === (place.threadId ?? ""),
        )
        .map(seenOf),
    // Private answers stay in place here, seen by one person only.
    seenPrivately: async (who) =>
      (await history(page, who)).filter((message) => message.author.id === undefined).map(seenOf),
    contentCalls: async () =>
      (await Promise.all([history(page, "owner"), history({ chatId: "second" }, "owner")]))
        .flat()
        .filter((message) => message.author.id === undefined)
        .map((message) => ({ kind: "send", text: seenOf(message).text, messageId: String(message.id) })),
  };
}

function seenOf({ id, text, card, buttons = [] }: PageMessage): Seen {
  const fields = (card?.fields ?? []).flatMap(({ name, html }) => [name, html]);
  return {
    id: String(id),
    text: [text, card?.title, card?.text, ...fields].filter(Boolean).join("\n"),
    buttons: buttons.flat().map(({ label }) => label),
  };
}
