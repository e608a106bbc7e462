/** What a hook at `message_sending` returns is checked as a reply is: a message that cannot be sent is the failure of the hook. */
import { describe, expect, it } from "vitest";
import type { OutboundMessage } from "../../src/domain/chat/message.js";
import type { DispatchRecord } from "../../src/domain/journal.js";
import { HookRegistry } from "../../src/index.js";
import { type LogLine, logTo } from "./points.js";

const button = (more: object) => [[{ label: "Go", ...more }]];

async function send(result: unknown, message: OutboundMessage = { text: "hello" }) {
  const records: DispatchRecord[] = [];
  const log: LogLine[] = [];
  const hooks = new HookRegistry({
    journal: { record: (record) => void records.push(record) },
    logger: logTo(log),
  });
  hooks.registerModifying("message_sending", (() => result) as never, { id: "p.redact" });
  const target = { chatId: "c", platform: "web", botId: "web", deliveryId: "d_1" };
  const cause = { kind: "api" as const, id: "1", depth: 0 };
  const change = await hooks.fireModifying("message_sending", { ...target, cause, message });
  return { change, run: records[0]?.runs[0], log };
}

describe("a result of message_sending", () => {
  it.each([
    ["a text that is no text", { message: { text: 5 } }, "message.text: expected text, got 5"],
    ["an unknown field", { message: { text: "x", txt: "y" } }, 'there is no field "message.txt"'],
    ["a message that is a text", { message: "x" }, 'message: expected an object, got "x"'],
    ["an unknown key", { text: "x" }, 'there is no field "text"; the fields are message, cancel'],
    ["a claim", { handled: true }, 'there is no field "handled"'],
    ["a cancel that is no reason", { cancel: 5 }, "cancel: "],
    ["an empty reason", { cancel: "" }, "cancel: it is empty: give the reason, or true"],
    [
      "an empty text",
      { message: { text: " " } },
      'message: it has no text, card, attachment or button left: to keep it from being sent, return { cancel: "the reason" }',
    ],
    ["buttons that are no rows", { message: { buttons: [{ label: "Go" }] } }, "message.buttons"],
    [
      "a button that does nothing",
      { message: { buttons: button({}) } },
      "message.buttons.0.0: a press of this button does nothing: add a `url` or an `action`",
    ],
    [
      "a button that leads nowhere",
      { message: { buttons: button({ url: "javascript:x" }) } },
      "message.buttons.0.0.url: expected an address that starts with https: or http:",
    ],
    [
      "a button whose line is no command",
      { message: { buttons: button({ action: { kind: "command", line: "status" } }) } },
      'message.buttons.0.0.action.line: expected a command line that starts with "/"',
    ],
  ])("that has %s fails the hook and changes nothing", async (_, result, error) => {
    const { change, run, log } = await send(result);
    expect(change).toEqual({});
    expect(run).toMatchObject({ outcome: "failed", error: expect.stringContaining(error) });
    expect(log).toMatchObject([{ level: "error", message: 'Hook "p.redact" failed at message_sending' }]);
  });

  it.each(["message", "cancel"])("that has null in place of %s changes nothing, and the log says so", async (key) => {
    const { change, run, log } = await send({ [key]: null });
    expect(change).toEqual({});
    expect(run).toMatchObject({ outcome: "passed" });
    expect(log).toMatchObject([{ level: "warn", message: expect.stringContaining(`${key}: null has no effect`) }]);
  });

  it("may take away the text of a message that shows something else", async () => {
    const card = { title: "The last deploy" };
    const { change } = await send({ message: { text: "" } }, { text: "hello", card });
    expect(change).toEqual({ message: { text: "", card } });
  });

  it("is not blamed for what the message had before", async () => {
    const buttons = button({});
    const { change } = await send({ message: { text: "bye" } }, { text: "hello", buttons });
    expect(change).toEqual({ message: { text: "bye", buttons } });
  });
});
