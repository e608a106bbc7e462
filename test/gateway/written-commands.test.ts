/** A command that comes by a form is shown as a line: what is written there is read back as the same options. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeCommand } from "../../adapters/discord/decode/interaction.js";
import { commandSpecs as specs } from "../../commands/index.js";
import { type CommandSpec, namedOption, type OptionSpec, type OptionValue } from "../../src/domain/chat/command.js";
import { CommandTable, parseOptions } from "../../src/gateway/inbound/parse-command.js";

const self = { botId: "1", applicationId: "1", botName: "hookgate" };
const table = new CommandTable<CommandSpec>(specs);

function onDiscord(name: string, options: Record<string, OptionValue>): string {
  const given = Object.entries(options).map(([key, value]) => ({ name: key, type: 3, value }));
  const payload = {
    id: "1378700000000000011",
    application_id: "1",
    type: 2,
    token: "t",
    channel_id: "5",
    user: { id: "7", username: "ada" },
    data: { name, options: given },
  };
  const message = decodeCommand(payload, { self, receivedAt: 1 }, specs)?.message;
  if (message === undefined) throw new Error("it is no command");
  return message.text;
}

function byName(name: string, options: Record<string, OptionValue>): string {
  return [`/${name}`, ...Object.entries(options).map(([key, value]) => namedOption(key, value))].join(" ");
}

function readBack(line: string) {
  const read = table.read(line);
  return read && parseOptions(read.command, read.rest);
}

const piece = fc.constantFrom(
  ..."\n,\t, ,\\,\",',“,”,‘,=,{,},[,],--,—,x,é,don't".split(","),
  ...["live", "dry-run", "page=2", "text=", "reason=x", "--live", "approve", "id"],
);
const anyText = fc.array(piece, { minLength: 1, maxLength: 6 }).map((some) => some.join(""));

function anyValue({ type, choices }: OptionSpec): fc.Arbitrary<OptionValue> {
  if (choices) return fc.constantFrom(...choices);
  if (type === "boolean") return fc.boolean();
  return type === "integer" ? fc.integer() : anyText;
}

/** A command and some of its options, the required ones among them. */
const given = fc.constantFrom(...specs).chain(({ name, options }) => {
  const values = Object.fromEntries(options.map((option) => [option.name, anyValue(option)]));
  const requiredKeys = options.filter(({ required }) => required === true).map((option) => option.name);
  return fc.tuple(fc.constant(name), fc.record<Record<string, OptionValue>>(values, { requiredKeys }));
});

it.each([
  ["Discord", onDiscord],
  ["the web page and the buttons that ask which", byName],
])("is read back from the line of %s", (_, write) => {
  fc.assert(
    fc.property(given, ([name, options]) => {
      const line = write(name, options);
      expect(readBack(line), line).toEqual({ kind: "options", options });
    }),
    { numRuns: 3000 },
  );
});

it.each([
  ["fire-hook", { id: "two\nlines", phase: "after" }],
  ["fire-hook", { id: "a\tb" }],
  ["fire-hook", { id: 'she "said" it' }],
  ["fire-hook", { id: "C:\\new folder" }],
  ["fire-hook", { id: "payload=x" }],
  ["fire-hook", { id: "“curly”" }],
])("%s with %j is read back from Discord's line", (name, options) => {
  expect(readBack(onDiscord(name, options))).toEqual({ kind: "options", options });
});

it.each([
  [{ id: "greeter", payload: "what is new today?" }, "/fire-hook greeter what is new today?"],
  [{ id: "greeter", payload: '{"text":"hello"}', live: true }, '/fire-hook greeter live=true {"text":"hello"}'],
  [{ id: "greeter", payload: "turn it live" }, '/fire-hook greeter "turn it live"'],
])("free text of Discord is quoted only where a part of it would be read as an option: %j", (options, line) => {
  expect(onDiscord("fire-hook", options)).toBe(line);
  expect(readBack(line)).toEqual({ kind: "options", options });
});
