/** Replies to copies and cards that the gateway does not know: it was restored from a backup that is older than they are. */
import { describe, expect, it } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import type { FlowPlatform } from "./platform.js";
import { allOnline, invoke, startStack } from "./stack.js";

const SLA = { policies: [{ id: "first", for: "conversation", measure: "first_response", target: "8h" }] };
const NOTE =
  "Your reply was not sent to anyone: the message that you replied to is no longer linked with a conversation, because it is too old, or newer than a backup that was restored. Reply to a newer copy, or write to the person yourself.";

describe.each(["discord", "telegram"] as const)("in a channel of operators on %s", (name) => {
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
