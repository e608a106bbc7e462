/** The same flow on all three platforms, through their real clients and a gateway that is a process of its own. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import type { FlowPlatform, Place, Seen, Speaker } from "./platform.js";
import { type Stack, startStack } from "./stack.js";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

async function answer(platform: FlowPlatform, place: Place, part: string, who: Speaker = "owner"): Promise<Seen> {
  return until(
    async () => (await platform.seen(place, who)).find(({ text }) => text.includes(part)),
    `"${part}" in ${platform.name}`,
  );
}

describe.each(["web", "discord", "telegram"] as const)("on %s", (name) => {
  const platform = () => stack.platforms[name];
  const room = () => platform().places[0];

  it("answers a message through the hooks, marked by message_sending", async () => {
    const id = await platform().say(room(), "guest", "echo hello there");
    const { text } = await answer(platform(), room(), "hello there");
    expect(text).toMatch(/hello there ‹d-\w+›/);
    const received = stack
      .noted("message_received")
      .filter(({ payload }) => payload.message.platform === name && payload.message.messageId === id);
    expect(received).toHaveLength(1);
    expect(received[0]).toMatchObject({
      attempt: 1,
      payload: { access: "allowed", message: { text: "echo hello there", isDm: false } },
    });
  });

  it("tells message_sent the platform's ids of all parts of a long answer, and loses nothing of it", async () => {
    await platform().say(room(), "guest", "long");
    const sent = await until(
      () =>
        stack
          .noted("message_sent")
          .find(({ payload }) => payload.platform === name && payload.message.text?.startsWith("Line 0")),
      "the long answer being sent",
    );
    const ids: string[] = sent.payload.messageIds;
    const parts = (await platform().seen(room())).filter(({ id }) => ids.includes(id));
    expect(parts).toHaveLength(ids.length);
    const whole = parts.map(({ text }) => text).join("\n");
    for (let line = 0; line < 330; line++)
      expect(whole).toContain(`Line ${line} of a long answer, with 👩‍👩‍👧‍👦 and words.`);
  });

  it("closes and reopens a code fence over a split", async () => {
    await platform().say(room(), "guest", "fence");
    const sent = await until(
      () =>
        stack
          .noted("message_sent")
          .find(({ payload }) => payload.platform === name && payload.message.text?.startsWith("```js")),
      "the fence being sent",
    );
    const parts = (await platform().seen(room())).filter(({ id }) => sent.payload.messageIds.includes(id));
    const count = parts.map(({ text }) => text.split("const a = 1; // 👍🏽").length - 1).reduce((a, b) => a + b, 0);
    expect(count).toBe(400);
    // Discord gets Markdown; the others get marked-up text without fences.
    if (name === "discord") for (const { text } of parts) expect((text.match(/```/g) ?? []).length % 2).toBe(0);
  });

  it("shows a card with buttons; a press by the person who may runs its command, one by a stranger is refused in private", async () => {
    await platform().say(room(), "guest", "card");
    const card = await answer(platform(), room(), "The title");
    expect(card.text).toContain("its value");
    expect(card.buttons).toEqual(["Say it", "Status"]);

    await platform().press(room(), "guest", card.id, "Say it");
    await answer(platform(), room(), "pressed ‹");

    const before = stack.noted("command_invoked").length;
    await platform().press(room(), "stranger", card.id, "Status");
    const refused = await until(
      () =>
        stack
          .noted("command_invoked")
          .slice(before)
          .find(({ payload }) => payload.operator.platform === name),
      "the refusal",
    );
    expect(refused.payload).toMatchObject({ command: "status", outcome: "refused" });

    await platform().press(room(), "owner", card.id, "Status");
    await until(
      () =>
        stack
          .noted("command_invoked")
          .slice(before)
          .find(({ payload }) => payload.operator.platform === name && payload.outcome === "done"),
      "the owner's press",
    );
  });

  it("answers in the thread that it was asked in, commands too", async () => {
    const thread = platform().thread;
    await platform().say(thread, "guest", "echo in the thread");
    await answer(platform(), thread, "in the thread");
    await platform().say(thread, "owner", "/whoami");
    await until(
      async () =>
        (await platform().seen(thread, "owner")).find(({ text }) => /owner/i.test(text)) ??
        (await platform().seenPrivately("owner")).find(({ text }) => /owner/i.test(text)),
      "whoami in the thread",
    );
    if (thread.threadId !== undefined)
      expect((await platform().seen(room())).some(({ text }) => text.includes("in the thread"))).toBe(false);
  });

  it("takes a message that is only an attachment", async () => {
    await platform().say(room(), "guest", "", { attachment: true });
    await answer(platform(), room(), "1 file: note.txt");
  });

  it("fires message_edited and reaction_added", async () => {
    const id = await platform().say(room(), "guest", "echo first words");
    await answer(platform(), room(), "first words");
    await platform().edit(room(), "guest", id, "echo second words");
    await platform().react(room(), "guest", id, "👍");
    await until(
      () =>
        stack
          .noted("message_edited")
          .find(({ payload }) => payload.message.platform === name && payload.message.text === "echo second words"),
      "message_edited",
    );
    await until(
      () =>
        stack
          .noted("reaction_added")
          .find(({ payload }) => payload.message.platform === name && payload.message.messageId === id),
      "reaction_added",
    );
  });

  it("fires message_deleted where the platform tells of it", async () => {
    const { remove } = platform();
    if (!remove) return expect(name).toBe("telegram"); // Telegram tells bots of no deletions
    const id = await platform().say(room(), "guest", "echo to be deleted");
    await answer(platform(), room(), "to be deleted");
    await remove(room(), "guest", id);
    await until(
      () => stack.noted("message_deleted").find(({ payload }) => payload.message.messageId === id),
      "message_deleted",
    );
  });

  it("suppresses by before_dispatch, cancels by message_sending, and holds what a fail-closed hook could not check", async () => {
    for (const word of ["suppress this", "forbidden", "guarded"]) await platform().say(room(), "guest", word);
    await platform().say(room(), "guest", "echo after the three");
    await answer(platform(), room(), "after the three");
    const texts = (await platform().seen(room())).map(({ text }) => text).join("\n");
    expect(texts).not.toMatch(/suppress this|forbidden words|guarded words/);
    await until(
      () =>
        stack
          .noted("delivery_failed")
          .find(({ payload }) => payload.platform === name && payload.message.text.startsWith("forbidden")),
      "delivery_failed",
    );
    const held = await command("/outbox list");
    expect(JSON.stringify(held)).toContain("held");
  });

  it("puts a message off when a hook asks for it, and offers it again", async () => {
    await platform().say(room(), "guest", "later");
    await answer(platform(), room(), "later it is");
  });

  it("answers the same text of two people within a second, each once", async () => {
    await Promise.all([
      platform().say(room(), "guest", "echo at once"),
      platform().say(room(), "stranger", "echo at once"),
    ]);
    await until(
      async () => (await platform().seen(room())).filter(({ text }) => text.includes("at once ‹")).length === 2,
      "both answers",
    );
  });

  it("keeps conversations apart and each in its order", async () => {
    const [first, second] = platform().places;
    await platform().say(first, "guest", "slow 300 one");
    await platform().say(first, "guest", "echo two");
    await platform().say(second, "guest", "echo elsewhere");
    await answer(platform(), second, "elsewhere");
    expect((await platform().seen(first)).some(({ text }) => text.includes("two ‹"))).toBe(false);
    await answer(platform(), first, "two ‹");
    const order = (await platform().seen(first)).map(({ text }) => text).filter((text) => /slow one|^two/.test(text));
    expect(order.map((text) => text.split(" ‹")[0])).toEqual(["slow one", "two"]);
  });

  it("runs operator commands for the owner and refuses a stranger in private", async () => {
    const before = stack.noted("command_invoked").length;
    const invoked = (outcome: string) =>
      until(
        () =>
          stack
            .noted("command_invoked")
            .slice(before)
            .find(({ payload }) => payload.operator.platform === name && payload.outcome === outcome),
        outcome,
      );
    await platform().command(room(), "owner", "/hooks");
    expect((await invoked("done")).payload).toMatchObject({ command: "hooks" });
    await platform().command(room(), "stranger", "/hooks");
    expect((await invoked("refused")).payload).toMatchObject({ command: "hooks" });
  });

  it("fires a hook by hand and shows its outcome", async () => {
    await platform().command(room(), "owner", "/fire-hook inbound_claim example live=true");
    await until(
      async () =>
        [...(await platform().seen(room(), "owner")), ...(await platform().seenPrivately("owner"))].find(({ text }) =>
          /flow\.inbound_claim/.test(text),
        ),
      "the outcome of the fired hook",
    );
  });
});

describe("on all platforms together", () => {
  it("lets no content reach a platform without a message_sending dispatch", async () => {
    for (const platform of Object.values(stack.platforms)) {
      const calls = await platform.contentCalls();
      expect(calls.length).toBeGreaterThan(10);
      const unguarded = () => {
        const dispatched = new Set(
          stack.noted("message_sending").map(({ payload }) => (payload.deliveryId as string).replaceAll("_", "-")),
        );
        const sentIds = new Set(
          stack
            .noted("message_sent")
            .flatMap(({ payload }) => (payload.messageIds as string[]).map((id) => `${payload.platform} ${id}`)),
        );
        return calls.filter(({ text, messageId }) => {
          const marked = /‹(d-\w+)›/.exec(text)?.[1];
          return !(marked !== undefined && dispatched.has(marked)) && !sentIds.has(`${platform.name} ${messageId}`);
        });
      };
      // What is told of a call that is just over may still be on its way.
      await until(() => unguarded().length === 0, "every call being told of", 5_000).catch(() => {});
      expect(unguarded()).toEqual([]);
    }
  });

  it("shows every platform online in /readyz and counts in /metrics", async () => {
    const { platforms } = (await (await fetch(`${stack.gateway.url}/readyz`)).json()) as {
      platforms: Record<string, { state: string }>;
    };
    expect(platforms).toMatchObject({
      web: { state: "online" },
      discord: { state: "online" },
      telegram: { state: "online" },
    });
    const metrics = await (await fetch(`${stack.gateway.url}/metrics`)).text();
    expect(metrics).toMatch(/hookgate_events_accepted_total\{platform="telegram",kind="message"\} \d+/);
  });
});

async function command(line: string): Promise<unknown> {
  const answer = await fetch(`${stack.gateway.url}/api/command`, {
    method: "POST",
    headers: { authorization: "Bearer a-token-for-the-tests-only", "content-type": "application/json" },
    body: JSON.stringify({ line }),
  });
  return answer.json();
}
