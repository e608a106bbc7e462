/** Hooks that cannot work, with what is reported of each. `check.test.ts` gives them to check, a start and a reload. */
export type Json = Record<string, unknown>;

export interface Mistake {
  config?: Json;
  files?: Record<string, string>;
  env?: Record<string, string>;
  found: RegExp;
  /** It makes other mistakes of the table unreadable, so it is not in the file that has them all. */
  alone?: true;
}

export const TRUE = { shell: { command: ["true"] } };
let number = 0;
export const hook = (changes: Json, found: RegExp, files?: Record<string, string>): Mistake => ({
  config: { hooks: [{ id: `h${++number}`, run: TRUE, ...changes }] },
  files,
  found,
});

const received = { on: "message_received" };
const step = (one: Json, found: RegExp) => hook({ ...received, context: [one] }, found);
const chat = (options: Json, found: RegExp) =>
  hook({ ...received, run: { chat: { to: "web:web:general", ...options } } }, found);
const press = (button: Json, found: RegExp) => chat({ text: "x", buttons: [[button]] }, found);
const agent = (changes: Json, options: Json, found: RegExp): Mistake => {
  const mistake = hook({ ...changes, run: { agent: { prompt: "x", model: "cheap", ...options } } }, found);
  const available = { cheap: { provider: "openai-compatible", model: "tiny" } };
  // With a model, the hooks that lack one lack nothing.
  return { ...mistake, config: { ...mistake.config, models: { available } }, alone: true };
};
const moduleOf = (name: string, code: string, found: RegExp) =>
  hook({ ...received, run: { module: { path: `./${name}.mjs` } } }, found, { [`${name}.mjs`]: code });

export const HOOK_MISTAKES: Record<string, Mistake> = {
  // Steps.
  "a file outside of the root": step(
    { read_file: { path: "../secret.txt" } },
    /\.\.\/secret\.txt is outside of .*`root`/,
  ),
  "a missing file": step({ read_file: { path: "none.txt" } }, /there is no file .*none\.txt/),
  "a missing folder to list": step({ list_files: { path: "nowhere" } }, /there is no folder .*nowhere/),
  "a folder for a file": step({ file_diff: { path: "." } }, /is no file/),
  "a folder without a repository": step({ git_diff: { repo: "/" } }, /there is no git repository in \//),
  "a task for no runner": step({ create_task: { title: "x", to: "nobdy" } }, /There is no runner or person "nobdy"/),
  "a task for no person": step(
    { create_task: { title: "x", to: "person:web:99" } },
    /there is no person 99 in the web chat \(there is Owner: person:web:1/,
  ),
  "a deadline that is no time": step(
    { create_task: { title: "x", to: "person:web:1", due: "next week" } },
    /create_task\.due: .*expected a duration above 0 such as 2h.*got "next week"/,
  ),
  "an unknown argument of a query": step(
    { db_query: { query: "runs", args: { hok: "x" } } },
    /db_query\.args\.hok: .*did you mean "hook"\?/,
  ),
  "an unknown status in a query": step(
    { db_query: { query: "runs", args: { status: "fialed" } } },
    /db_query\.args\.status: .*"fialed" is not known here \(did you mean "failed"\?\)/,
  ),
  "a time that a query cannot read": step(
    { db_query: { query: "messages", args: { since: "yesterday" } } },
    /args\.since: .*expected 1h or a time such as .*got "yesterday"/,
  ),
  "a time that the journal cannot read": step({ journal: { since: "lately" } }, /journal\.since: .*got "lately"/),
  "an address of this machine": step(
    { http: { url: "http://127.0.0.1:9/" } },
    /127\.0\.0\.1:9 is refused, because its address is loopback: add "127\.0\.0\.1:9" to outgoing\.allow/,
  ),
  "an address of a private network": hook(
    { ...received, run: { http: { url: "https://10.0.0.7/hook" } } },
    /10\.0\.0\.7:443 is refused, because its address is private/,
  ),
  "the name of this machine": hook(
    { ...received, run: { http: { url: "http://localhost:9/" } } },
    /localhost:9 is refused, because its address is loopback/,
  ),
  "a condition beside its step": hook(
    { ...received, context: [{ ...TRUE, skip_if: "exit_zero" }] },
    /expected exactly one step, got shell and skip_if: skip_if belongs inside, as in \{ shell: \{ …, skip_if: … \} \}/,
  ),
  "a deadline of no time": hook({ ...received, timeout: "0s" }, /timeout: .*expected a duration above 0/),
  // Agents.
  "a tool without a chat": agent(
    { trigger: { every: "1h" } },
    { tools: ["send_message"] },
    /the tool send_message has no chat, because the event is about none/,
  ),
  "a cost limit without a price": agent(
    received,
    { max_cost_usd: 1 },
    /max_cost_usd: .*the model "cheap" has none: set models\.available\.cheap\.price/,
  ),
  "a decision in the background": agent(
    { on: "inbound_claim", execution: "background" },
    { decides: true },
    /agent\.decides: .*nothing waits for a hook that is background, so a decision has no effect/,
  ),
  "a decision where nothing can be decided": agent(
    { ...received, execution: "deadline" },
    { decides: true },
    /agent\.decides: .*nothing can be decided at message_received, so a decision has no effect/,
  ),
  "an agent that can do nothing where it could decide": agent(
    { on: "inbound_claim" },
    { tools: ["run_history"] },
    /run\.agent: .*its answer has no effect: set `decides: true`, or give it a tool that acts, `tools: \[send_message\]`/,
  ),
  "a place to send to without the tool": agent(
    received,
    { send_to: ["web:web:general"] },
    /run\.agent\.send_to: .*nothing is sent there without the tool: add `tools: \[send_message\]`/,
  ),
  // Messages.
  "an empty text": chat({ text: " " }, /run\.chat\.text: .*there is nothing to say/),
  "a card with nothing in it": chat({ card: { footer: "x" } }, /run\.chat\.card: .*there is nothing to say/),
  "a card with an address that is none": chat(
    { card: { title: "x", url: "javascript:alert(1)" } },
    /card\.url: .*starts with https: or http:/,
  ),
  "a chat of another account": chat(
    { to: "web:other:general", text: "x" },
    /web:other:general cannot be reached: the gateway's account on web is web, not other/,
  ),
  "a button that does nothing": press({ label: "Go" }, /buttons\.0\.0: .*a press of this button does nothing/),
  "a button with two things to do": press(
    { label: "Go", url: "https://example.org", action: { kind: "say", text: "x" } },
    /buttons\.0\.0: .*a `url` or an `action`, not both/,
  ),
  "a button that runs code": press(
    { label: "Go", url: "javascript:alert(1)" },
    /buttons\.0\.0\.url: .*expected an address that starts with https: or http:, got "javascript:alert\(1\)"/,
  ),
  "a button with an unknown kind of action": press(
    { label: "Go", action: { kind: "open", line: "/status" } },
    /action\.kind: .*expected one of command, say, got "open"/,
  ),
  "a button without a slash": press(
    { label: "Go", action: { kind: "command", line: "status" } },
    /action\.line: .*expected a command line that starts with "\/", such as \/status, got "status"/,
  ),
  "a button with an unknown command": press(
    { label: "Go", action: { kind: "command", line: "/stauts now" } },
    /the button "Go": there is no command \/stauts \(did you mean \/status\?\)/,
  ),
  "a button whose label turns the text": press(
    { label: "Deny\u202E", action: { kind: "command", line: "/status" } },
    /label: .*characters that cannot be seen or that turn the text/,
  ),
  "a button with a hidden character": press(
    { label: "Ap\u200Dprove", action: { kind: "command", line: "/status" } },
    /label: .*characters that cannot be seen/,
  ),
  // Modules.
  "a module without the function": moduleOf(
    "bare",
    "export const other = () => {};",
    /\.\/bare\.mjs exports no function "default"; it exports other/,
  ),
  "a module that throws": moduleOf(
    "throws-early",
    'throw new Error("no luck");',
    /the module \.\/throws-early\.mjs cannot be loaded: no luck \(throws-early\.mjs:1:\d+\)/,
  ),
  "a watch of the whole machine": hook(
    { trigger: { files: { paths: "/" } } },
    /trigger\.files\.paths\.0: .*"\/" is every file of this machine, so it cannot be watched: name a folder/,
  ),
  // Hooks that are named.
  "an unknown field of a fallback": hook(
    { on: "task:create", phase: "before", on_failure: "fallback", fallback: { titel: "x" } },
    /fallback: unknown field "titel" \(did you mean "title"\?\)/,
  ),
  "a fallback that changes what cannot be changed": hook(
    { on: "task:complete", phase: "before", on_failure: "fallback", fallback: { taskId: "t_other" } },
    /fallback: unknown field "taskId"/,
  ),
  "a matcher of no room": hook(
    { ...received, match: { chats: ["web:nowhere"] } },
    /match\.chats: there is no room "nowhere" in the web chat.*so this never matches/,
  ),
  "a matcher of no person": hook(
    { ...received, match: { users: ["web:99"] } },
    /match\.users: there is no person 99 in the web chat.*so this never matches/,
  ),
  "a matcher of no hook": hook(
    { on: "hook_run_completed", match: { hooks: ["nosuch"] } },
    /match\.hooks: there is no hook "nosuch".*so this never matches/,
  ),
  "a matcher of no watch": hook(
    { on: "file.changed", match: { watches: ["nosuch"] } },
    /match\.watches: there is no hook "nosuch".*so this never matches/,
  ),
};
