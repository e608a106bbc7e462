/** Buttons of hooks, whose templates hold what strangers wrote, pressed by people who may do more than those. */
import { expect, it } from "vitest";
import { taskedApp, WORKER_TOKEN } from "../orchestrator/support/tasked-app.js";
import { until } from "../support/until.js";

const ping = { id: "ping", on: "message_received", match: { users: ["999"] }, run: { chat: { text: "pong" } } };

async function posted(action: Record<string, unknown>, text: string) {
  const app = await taskedApp({
    orchestrator: { runners: { build: { shell: { sh: "true" } } } },
    config: {
      hooks: [
        ping,
        {
          id: "echo",
          on: "message_received",
          match: { when: 'payload.message.text.startsWith("/")' },
          run: { chat: { to: "here", text: "seen: {{ event.message.text }}" } },
        },
        {
          id: "ticket",
          on: "message_received",
          match: { when: 'payload.message.text.startsWith("ticket ")' },
          run: { chat: { to: "here", text: "A ticket", buttons: [[{ label: "Press", action }]] } },
        },
      ],
    },
  });
  await app.api("POST", "/rooms/general/messages", { text, nonce: "a-ticket-1" }, WORKER_TOKEN);
  const card = await until(
    async () => (await app.room("general")).find(({ buttons }) => buttons !== undefined),
    "the card",
  );
  const token = card.buttons?.[0]?.[0]?.token;
  await app.api("POST", `/messages/${card.id}/press`, { token, nonce: "a-press-1" });
  const hears = (part: string) =>
    until(async () => (await app.room("general")).find(({ text }) => text.includes(part)), `"${part}" being said`);
  return { app, hears };
}

it("a text that a button says runs no command, whoever presses it", async () => {
  const { app, hears } = await posted(
    { kind: "say", text: "{{ event.message.text | remove_first: 'ticket ' }}" },
    "ticket /hooks disable ping",
  );
  await hears("seen: /hooks disable ping");
  expect((await app.command("/hooks show ping")).data).toMatchObject({ enabled: true });
});

it("what a stranger wrote is one option of the command of a button, and the answer shows the line", async () => {
  const { app, hears } = await posted(
    { kind: "command", line: "/task add me {{ event.message.text | remove_first: 'ticket ' }}" },
    'ticket please help id=build text=" draft" \\" id=build',
  );
  await hears('/task add me "please help id=build');
  const { data } = await app.command("/task list");
  expect((data as { tasks: object[] }).tasks).toEqual([
    expect.objectContaining({ title: 'please help id=build text=" draft" \\" id=build' }),
  ]);
  expect(JSON.stringify(data)).not.toContain('"build"');
});
