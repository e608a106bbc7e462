/** Replies to copies and cards that the gateway does not know: it was restored from a backup that is older than they are. */
import { describe, expect, it } from "vitest";
import { runCli } from "../cli/run-cli.js";
import type { FaultAction } from "../fakes/discord/faults.js";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import type { FlowPlatform } from "./platform.js";
import { allOnline, invoke, startStack } from "./stack.js";

const SLA = { policies: [{ id: "first", for: "conversation", measure: "first_response", target: "8h" }] };
const NOTE =
  "Your reply was not sent to anyone: the message that you replied to is no longer linked with a conversation, because it is too old, or newer than a backup that was restored. Reply to a newer copy, or write to the person yourself.";

const DROPPED = { kind: "drop-after" } as const;

describe.each(["discord", "telegram"] as const)("in a channel of operators on %s", (name) => {
  it("a reply to a copy in doubt shows that it arrived, and reaches the customer; with two that look the same it names the way out", async () => {
    const stack = await startStack({
      withFlow: false,
      config: ({ discord, telegram }) => ({
        gateway: {
          default_route: { forward: `${name}::${name === "discord" ? discord.channelId : telegram.chatId}` },
          outbox_attempts: 2,
          retry_first: "50ms",
          retry_max: "100ms",
        },
      }),
    });
    afterTest(() => stack.stop());
    const { gateway, platforms, discord, telegram } = stack;
    const desk: FlowPlatform = platforms[name];
    const place = { chatId: name === "discord" ? discord.channelId : String(telegram.chatId) };
    const customers = platforms[name === "discord" ? "telegram" : "discord"];
    const posted = async (part: string) => (await desk.seen(place)).filter(({ text }) => text.includes(part));
    const held = async () =>
      (((await invoke(gateway.url, "/outbox list held")).data as { letters?: { id: string }[] }).letters ?? []).map(
        ({ id }) => id,
      );
    /** The copy is posted, and the answer is lost. */
    const inDoubt = async (text: string) => {
      const shown = text.slice(-6);
      const before = (await posted(shown)).length;
      const count = (await held()).length;
      const path = `^/channels/${place.chatId}/messages$`;
      const refused: FaultAction = { kind: "status", status: 403, body: { code: 50001, message: "Missing Access" } };
      if (name === "telegram") telegram.fail({ method: "sendMessage", action: { kind: "drop-after" } });
      else for (const action of [DROPPED, refused]) discord.fail({ method: "POST", path, action });
      await customers.say(customers.places[1], "guest", text);
      await until(async () => (await held()).length === count + 1, "the doubt");
      const copies = await posted(shown);
      expect(copies).toHaveLength(before + 1);
      return copies.at(-1)?.id as string;
    };
    const answered = (text: string) =>
      until(
        async () => (await customers.seen(customers.places[1])).find((seen) => seen.text.includes(text)),
        `the answer ${text}`,
      );

    await until(async () => (await posted("the first of a thread"))[0], "what came before");
    const first = await inDoubt("Where is *my* invoice?");
    await desk.say(place, "stranger", "In the mail", { replyToId: first });
    await answered("In the mail");
    expect(await held()).toEqual([]);

    const second = await inDoubt("And my parcel?");
    await invoke(gateway.url, `/outbox release ${(await held())[0]} confirmed=true`);
    await desk.say(place, "owner", "On its way", { replyToId: second });
    await answered("On its way");

    await inDoubt("Hello?");
    const third = await inDoubt("Hello?");
    await desk.say(place, "owner", "Which one?", { replyToId: third });
    const [note] = await until(async () => {
      const notes = await posted("not sent to anyone");
      return notes.length > 0 && notes;
    }, "the note");
    const [id] = await held();
    expect(note?.text).toContain("gave no answer when the message that you replied to was posted");
    expect(note?.text).toContain(`/outbox release ${id} confirmed=false`);
    await invoke(gateway.url, `/outbox release ${id} confirmed=false`);
    await until(
      async () => (await invoke(gateway.url, "/outbox list sent")).text.includes(id as string),
      "the copy being sent",
    );
    // Discord gives the one that is there already.
    const newest = (await posted("Hello?")).at(-1)?.id;
    await desk.say(place, "owner", "This one", { replyToId: newest as string });
    await answered("This one");
  });

  it("each reply to a copy that a restored gateway does not know is answered, and is no customer's message", async () => {
    const chat = ({ discord, telegram }: { discord: { channelId: string }; telegram: { chatId: number } }) =>
      name === "discord" ? discord.channelId : String(telegram.chatId);
    const stack = await startStack({
      withFlow: false,
      config: (around) => ({ gateway: { default_route: { forward: `${name}::${chat(around)}` } }, sla: SLA }),
    });
    afterTest(() => stack.stop());
    const { gateway, platforms } = stack;
    const desk: FlowPlatform = platforms[name];
    const place = { chatId: chat(stack) };
    const customers = platforms[name === "discord" ? "telegram" : "discord"];
    const posted = async (part: string) => (await desk.seen(place)).filter(({ text }) => text.includes(part));
    const cli = async (...args: string[]) =>
      expect(await runCli(args, { cwd: gateway.folder })).toMatchObject({ code: 0 });

    await cli("backup", "earlier.db");
    await customers.say(customers.places[1], "guest", "Where is my invoice?");
    const copy = await until(async () => (await posted("Where is my invoice?"))[0], "the copy");
    await gateway.stop();
    await cli("restore", "earlier.db");
    await gateway.start();
    await allOnline(gateway);
    // Discord still has the customer's message, so it is copied a second time: while that copy is on its way, a reply may mean it.
    if (customers.name === "discord")
      await until(async () => {
        const { outbox } = (await invoke(gateway.url, "/outbox")).data as { outbox: { sent: number } };
        return outbox.sent === 2;
      }, "the second copy");

    await desk.say(place, "stranger", "Who has lunch?");
    for (const who of ["stranger", "owner", "stranger"] as const)
      await desk.say(place, who, "It is in the mail", { replyToId: copy.id });
    await until(async () => (await posted(NOTE)).length === 3, "a note for each reply");
    // Customers go on as before.
    await customers.say(customers.places[1], "guest", "Hello?");
    const next = await until(async () => (await posted("Hello?"))[0], "the next copy");
    await desk.say(place, "stranger", "In the mail", { replyToId: next.id });
    await until(
      async () => (await customers.seen(customers.places[1])).find(({ text }) => text.includes("In the mail")),
      "the answer",
    );
    expect(await posted("not sent to anyone")).toHaveLength(3);
    for (const who of ["stranger", "owner"] as const) expect(await desk.seenPrivately(who)).toEqual([]);
    const open = await until(async () => {
      const { text } = await invoke(gateway.url, "/sla list");
      return text.includes(`on ${customers.name}`) ? text : undefined;
    }, "the customer's clock");
    expect(open).not.toContain(`on ${name}`);
  });
});
