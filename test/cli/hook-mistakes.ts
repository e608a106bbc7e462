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
const gate = { on: "quality:gate", phase: "after" };
const step = (one: Json, found: RegExp) => hook({ ...received, context: [one] }, found);
const chat = (options: Json, found: RegExp) =>
  hook({ ...received, run: { chat: { to: "web:web:general", ...options } } }, found);
/** After a run of tests. */
const says = (text: string, found: RegExp) =>
  hook(
    { ...received, context: [{ run_tests: { sh: "true" } }], run: { chat: { to: "web:web:general", text } } },
    found,
  );
const press = (button: Json, found: RegExp) => chat({ text: "x", buttons: [[button]] }, found);
const agent = (changes: Json, options: Json, found: RegExp): Mistake => {
  const mistake = hook({ ...changes, run: { agent: { prompt: "x", model: "cheap", ...options } } }, found);
  const available = { cheap: { provider: "openai-compatible", model: "tiny" } };
  // With a model, the hooks that lack one lack nothing.
  return { ...mistake, config: { ...mistake.config, models: { available } }, alone: true };
};
const eventHook = (changes: Json, event: Json, found: RegExp): Mistake => {
  const mistake = hook({ trigger: { event: "deployed" }, ...changes }, found);
  const events = { deployed: { secret_env: "EVENT_SECRET", ...event } };
  return { ...mistake, config: { ...mistake.config, events }, env: { EVENT_SECRET: "x".repeat(32) }, alone: true };
};
const empty = (changes: Json, at: string) =>
  hook({ ...received, ...changes }, new RegExp(`${at}: it is empty: write a value, or remove the line$`));
const moduleOf = (name: string, code: string, found: RegExp) =>
  hook({ ...received, run: { module: { path: `./${name}.mjs` } } }, found, { [`${name}.mjs`]: code });

const typed = (keywords: string, schema: Json): Record<string, Mistake> => {
  const state = { enum: ["ok", "failed"] };
  const properties = { state, ...(schema.properties as Json | undefined) };
  const fields = { type: "object", required: ["state"], additionalProperties: false, ...schema, properties };
  const when = 'payload.staet == "failed" || payload.state == "failure"';
  return {
    [`a condition on an event whose schema has ${keywords}`]: eventHook(
      { match: { when } },
      { schema: fields },
      /payload has no field "staet" \(did you mean "state"\?\)[\s\S]*payload\.state is never "failure": it is one of ok, failed/,
    ),
    [`a template about an event whose schema has ${keywords}`]: eventHook(
      { run: { chat: { to: "web:web:general", text: "{{ event.verzion }}" } } },
      { schema: fields },
      /event has no "verzion"/,
    ),
  };
};

/** The body of the event is no object, and the hook reads it as if it was the payload. */
const unopened = (schema: Json, changes: Json, name = "payload") =>
  eventHook(changes, { schema }, new RegExp(`${name} has one field: write ${name}.value in place of ${name}(;|$)`));
const LIST = { type: "array", items: { type: "object", properties: { s: { type: "string" } } } };

export const HOOK_MISTAKES: Record<string, Mistake> = {
  "a message for no person": chat({ to: "web:web:dm-97", text: "x" }, /there is no room "dm-97" in the web chat/),
  "an edit where none is": hook(
    { ...received, match: { when: 'payload.message.isEdit && payload.message.text != ""' } },
    /payload\.message\.isEdit is never true at message_received, so this never matches: edits are at message_edited$/,
  ),
  "a first version where edits are": hook(
    { on: "message_edited", match: { when: "!payload.message.isEdit" } },
    /payload\.message\.isEdit is always true at message_edited, so this never matches: remove it$/,
  ),
  "a platform that match.platforms excludes": hook(
    { ...received, match: { platforms: ["web"], when: 'payload.message.platform in ["discord", "telegram"]' } },
    /payload\.message\.platform is web, which match\.platforms asks for, so this never matches$/,
  ),
  "a pattern as JavaScript writes it": hook(
    { ...received, match: { when: 'payload.message.text.matches("/ping|pong/i")' } },
    /the pattern "\/ping\|pong\/i" has the slashes of JavaScript, .*: write "\(\?i\)ping\|pong"$/,
  ),
  "an emoji by its name": hook(
    { on: "reaction_added", match: { when: 'payload.emoji == ":thumbsup:"' } },
    /payload\.emoji is never ":thumbsup:": it is the emoji itself, such as "👍"/,
  ),
  "a command line as one text": hook(
    { ...received, run: { shell: { command: "ls -la {{ event.message.text }}" } } },
    /command: .*expected a list, got "ls -la .*": write \["ls", "-la", "\{\{ event\.message\.text \}\}"\]$/,
  ),
  "a command line for a shell": hook(
    { ...received, run: { shell: { command: 'echo "a b" | head' } } },
    /command: .*, for a line that a shell reads, sh: "echo \\"a b\\" \| head" in place of command$/,
  ),
  "a list with the marks of a shell": hook(
    { ...received, run: { shell: { command: ["npm", "run", "a", "&&", "npm", "run", "it's b"] } } },
    /command\.3: .*no shell reads this list, so npm gets "&&" and all that follows as arguments: write sh: "npm run a && npm run 'it'\\\\''s b'" in place of command$/,
  ),
  "a list that redirects, with a template": hook(
    { ...received, context: [{ shell: { command: ["echo", "{{ event.message.text }}", ">", "out.txt"] } }] },
    /shell\.command\.2: .* write the line as sh, with env: \{ NAME: "\{\{ … \}\}" \} and "\$NAME" for each template$/,
  ),
  "a list with the marks of a shell in a runner": {
    config: { orchestrator: { runners: { build: { shell: { command: ["make", "2>&1", "|", "tee", "log"] } } } } },
    found: /orchestrator\.runners\.build\.shell\.command\.1: .*: write sh: "make 2>&1 \| tee log" in place of command$/,
    alone: true,
  },
  "the command line of a runner": {
    config: { orchestrator: { runners: { build: { shell: { command: "make -j2 all" } } } } },
    found: /orchestrator\.runners\.build\.shell\.command: .*write \["make", "-j2", "all"\]$/,
    alone: true,
  },
  "variables of a runner that Hookgate sets itself": {
    config: { orchestrator: { runners: { build: { shell: { sh: "make", env: { HOOKGATE_TASK_ID: "1" } } } } } },
    found: /orchestrator\.runners\.build\.shell\.env\.HOOKGATE_TASK_ID: .*HOOKGATE_… variables are set by Hookgate/,
    alone: true,
  },
  ...typed("formats, patterns, ranges and choices in other fields", {
    $defs: { word: { type: "string" } },
    properties: {
      at: { type: "string", format: "date-time" },
      branch: { type: "string", pattern: "^[a-z]+$" },
      tags: { type: "array", minItems: 1, items: { type: "string" } },
      step: { type: "number", multipleOf: 5 },
      size: { type: "number", exclusiveMinimum: 5 },
      either: { oneOf: [{ type: "string" }, { type: "integer" }] },
      any: { anyOf: [{ type: "string" }, { type: "integer" }] },
      all: { allOf: [{ type: "string" }, { minLength: 1 }] },
      word: { $ref: "#/$defs/word" },
    },
  }),
  ...typed("no type", { type: undefined }),
  ...typed("a least number of fields", { minProperties: 1 }),
  ...typed("parts", { allOf: [{ required: ["state"] }] }),
  ...typed("choices", { oneOf: [{ required: ["state"] }] }),
  // Values with nothing behind their key.
  "an empty id": hook({ ...received, id: null }, /:\d+:\d+ id: .*it is empty: write a name for this hook$/),
  "an unknown point beside an empty id": hook(
    { id: null, on: "inbound_clam" },
    /on: .*there is no hook point "inbound_clam"/,
  ),
  "an empty list of chats": empty({ match: { platforms: ["web"], chats: null } }, "match\\.chats: .*"),
  "an empty condition": empty({ match: { when: null } }, "match\\.when: .*"),
  "an empty match": empty({ match: null }, "match: .*"),
  "an empty critical": empty({ critical: null }, "critical: .*"),
  "an empty enabled": empty({ enabled: null }, "enabled: .*"),
  "an empty timeout": empty({ timeout: null }, "timeout: .*"),
  "an empty fallback": empty({ fallback: null }, "fallback: .*"),
  "empty notify": empty({ notify: { on: null } }, "notify\\.on: .*"),
  "an empty trigger": empty({ on: undefined, trigger: { event: null } }, "trigger\\.event: .*"),
  "an empty run": empty({ run: null }, "run: .*"),
  "an empty handler": empty({ run: { shell: null } }, "run\\.shell: .*"),
  "an empty setting of a handler": empty({ run: { shell: { sh: "exit 0", cwd: null } } }, "run\\.shell\\.cwd: .*"),
  "an empty step": empty({ context: [{ git_diff: null }] }, "context\\.0\\.git_diff: .*"),
  "a step that is not there": empty({ context: [null] }, "context\\.0: .*"),
  "an empty setting of a step": empty({ context: [{ shell: { sh: "exit 0", timeout: null } }] }, "shell\\.timeout: .*"),
  // Steps.
  "a step without time": step({ list_files: { path: ".", timeout: "0s" } }, /timeout: .*expected a duration above 0/),
  "an attempt without time": hook(
    { ...received, run: { http: { url: "https://example.com", timeout: "0s" } } },
    /timeout: .*expected a duration above 0/,
  ),
  "a mention under another name": chat(
    { text: "x", mentions: { user: ["1"] } },
    /unknown setting "user" \(did you mean "users"\?\)/,
  ),
  "a form on a button that says": press(
    { label: "Go", action: { kind: "say", text: "a", line: "/status" } },
    /action\.line: .*"line" does not go with the other settings here: remove it, or those$/,
  ),
  "an unknown setting of a button": press(
    { label: "Go", action: { kind: "say", text: "a", foo: 1 } },
    /action\.foo: .*unknown setting "foo" \(there is kind, line, form, text\)$/,
  ),
  "an unknown setting of a form": press(
    {
      label: "Go",
      action: {
        kind: "command",
        line: "/task add",
        form: { title: "F", fields: [{ id: "text", label: "T", reqired: true }] },
      },
    },
    /form\.fields\.0\.reqired: .*unknown setting "reqired" \(did you mean "required"\?\)$/,
  ),
  "an unknown setting of a field of a card": chat(
    { card: { title: "T", fields: [{ name: "a", value: "b", inlin: true }] } },
    /card\.fields\.0\.inlin: .*unknown setting "inlin" \(did you mean "inline"\?\)$/,
  ),
  "a login in two ways": hook(
    {
      ...received,
      run: {
        http: {
          url: "https://example.org",
          auth: { bearer_env: "HOOKGATE_TOKEN", user: "u", password_env: "HOOKGATE_TOKEN" },
        },
      },
    },
    /auth\.user: .*"user" does not go with the other settings here: remove it, or those$/,
  ),
  "an address in a variable that holds none": hook(
    { ...received, run: { http: { url_env: "PATH" } } },
    /the environment variable PATH holds no address: expected one that starts with https: or http:$/,
  ),
  "a step with an address that is none": step(
    { http: { url_env: "PATH" } },
    /the environment variable PATH holds no address/,
  ),
  "an answer longer than the run may be": agent(
    received,
    { tools: ["send_message"], max_output_tokens: 5000, max_tokens: 100 },
    /agent\.max_output_tokens: .*no answer has that many tokens, because the run ends after 100 \(`max_tokens`\)/,
  ),
  "a limit of messages that nothing sends": agent(
    { on: "inbound_claim" },
    { decides: true, max_messages: 3 },
    /agent\.max_messages: .*nothing is sent without the tool: add `tools: \[send_message\]`$/,
  ),
  "a pause after the only attempt": hook(
    { ...received, run: { http: { url: "https://example.org", attempts: 1, backoff: "5s" } } },
    /http\.backoff: .*a request with one attempt has no pause: remove it, or set `attempts` to 2 or more$/,
  ),
  "a file outside of the root": step(
    { read_file: { path: "../secret.txt" } },
    /\.\.\/secret\.txt is outside of .*`root`/,
  ),
  "a missing file": step({ read_file: { path: "none.txt" } }, /there is no file .*none\.txt/),
  "a missing folder to list": step({ list_files: { path: "nowhere" } }, /there is no folder .*nowhere/),
  "a folder for a file": step({ file_diff: { path: "." } }, /is no file/),
  "a pattern above the folder that is listed": step(
    { list_files: { glob: "../*.md" } },
    /list_files\.glob: .*"\.\.\/\*\.md" matches nothing: a pattern is compared with paths below `path`\. Name the folder with `path`$/,
  ),
  "a working directory that is a file": hook(
    { ...received, run: { shell: { command: ["true"], cwd: "hookgate.yaml" } } },
    /cwd: .*hookgate\.yaml is a file, and no program runs in one: name a folder$/,
  ),
  "an option of git for a commit": step(
    { git_diff: { repo: "/", from: "--output=x" } },
    /git_diff\.from: .*"--output=x" is no commit, branch or tag$/,
  ),
  "a folder without a repository": step({ git_diff: { repo: "/" } }, /there is no git repository in \//),
  "a task for no runner": step({ create_task: { title: "x", to: "nobdy" } }, /There is no runner or person "nobdy"/),
  "a task for no person": step(
    { create_task: { title: "x", to: "person:web:99" } },
    /there is no person 99 in the web chat \(there is Owner: person:web:1/,
  ),
  "a task for a person whose platform is off": step(
    { create_task: { title: "x", to: "person:discord:80351110224678912" } },
    /discord is off, so person:discord:80351110224678912 is not notified of a task: turn discord on, or name another person$/,
  ),
  "a deadline without an offset": step(
    { create_task: { title: "x", to: "person:web:1", due: "2099-01-01T00:00" } },
    /create_task\.due: .*"2099-01-01T00:00" has no offset, so its hour is not known: write 2099-01-01T00:00Z for UTC/,
  ),
  "a deadline that is no time": step(
    { create_task: { title: "x", to: "person:web:1", due: "next week" } },
    /create_task\.due: .*expected a duration above 0 such as 2h.*got "next week"/,
  ),
  "a deadline that is over": step(
    { create_task: { title: "x", to: "person:web:1", due: "2020-01-01T00:00Z" } },
    /create_task\.due: 2020-01-01T00:00Z is in the past, so no task can be created$/,
  ),
  "an unknown argument of a query": step(
    { db_query: { query: "runs", args: { hok: "x" } } },
    /db_query\.args\.hok: .*did you mean "hook"\?/,
  ),
  "an unknown point in a query": step(
    { db_query: { query: "dispatches", args: { point: "mesage_received" } } },
    /args\.point: .*there is no hook point "mesage_received" \(did you mean "message_received"\?\)$/,
  ),
  "a point in a query by its other name": step(
    { db_query: { query: "dispatches", args: { point: "task.completed" } } },
    /args\.point: .*dispatches name this point task:complete: write "task:complete"$/,
  ),
  "a person in a query by name": step(
    { db_query: { query: "messages", args: { user: "bob" } } },
    /args\.user: .*expected a number, as platforms identify users, got "bob"$/,
  ),
  "an unknown room in a query": step(
    { db_query: { query: "messages", args: { chat: "nosuchroom" } } },
    /there is no room "nosuchroom" in the web chat, and chats of other platforms have numbers, so no row matches$/,
  ),
  "a room of the journal with its platform": step(
    { journal: { of: "messages", chat: "web:general" } },
    /"web:general" is no id of a chat: write general, without its platform, so no row matches$/,
  ),
  "an unknown runner in a query": step(
    { db_query: { query: "tasks", args: { assign_to: "nobdy" } } },
    /there is no runner "nobdy".*, so no row matches$/,
  ),
  "an unknown plan in a query": step(
    { db_query: { query: "missions", args: { plan: "nosuchplan" } } },
    /there is no plan "nosuchplan".*, so no row matches$/,
  ),
  "an unknown runner in a matcher": hook(
    { on: "task:complete", phase: "after", match: { agents: ["nosuchrunner"] } },
    /match\.agents: there is no runner "nosuchrunner".*, so this never matches$/,
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
  "an address of this machine with a value in its path": hook(
    { ...received, run: { http: { url: "http://127.0.0.1:9/x/{{ event.message.chatId }}" } } },
    /127\.0\.0\.1:9 is refused, because its address is loopback/,
  ),
  "an address of a private network with a value in its query": step(
    { http: { url: "http://192.168.1.5?{% if event.message.text %}u={{ event.message.userId }}{% endif %}" } },
    /192\.168\.1\.5:80 is refused, because its address is private/,
  ),
  "a condition beside its step": hook(
    { ...received, context: [{ ...TRUE, skip_if: "exit_zero" }] },
    /expected exactly one step, got shell and skip_if: skip_if belongs inside, as in \{ shell: \{ …, skip_if: … \} \}/,
  ),
  "a deadline of no time": hook({ ...received, timeout: "0s" }, /timeout: .*expected a duration above 0/),
  // Conditions whose result never changes.
  "text for an exit code": step(
    { shell: { command: ["true"], skip_if: 'step.exitCode == "0"' } },
    /shell\.skip_if: .*step\.exitCode is a number, so a comparison with "0" \(text\) never holds: write 0$/,
  ),
  "a list for a number in a template": says(
    "{% if steps[0].failures > 0 %}red{% else %}green{% endif %}",
    /text: .*steps\[0\]\.failures is a list, so a comparison with 0 \(a number\) never holds: compare its size, as in steps\[0\]\.failures\.size > 0$/,
  ),
  "text for a number in a template": says(
    "{% if steps[0].failed == 0 %}{% elsif steps[0].exitCode == '1' %}red{% endif %}",
    /text: .*steps\[0\]\.exitCode is a number, so a comparison with "1" \(text\) never holds: write 1$/,
  ),
  "text for a number in a case of a template": says(
    "{% assign code = step_0.exitCode %}{% case code %}{% when 0, '2' %}red{% endcase %}",
    /text: .*step_0\.exitCode is a number, so a comparison with "2" \(text\) never holds: write 2$/,
  ),
  "text for true in a template": says(
    "x{% if steps[0].ok and event.message.isDm == 'true' %}{% endif %}",
    /text: .*event\.message\.isDm is true or false, so a comparison with "true" \(text\) never holds: write true$/,
  ),
  "a text among texts as a number in a template": says(
    "x{% unless steps[0].failures contains 5 %}{% endunless %}",
    /text: .*steps\[0\]\.failures\[…\] is text, so a comparison with 5 \(a number\) never holds: write "5"$/,
  ),
  "a platform in other letters in a template": says(
    'x{% if event.message.platform == "Discord" %}{% endif %}',
    /text: .*event\.message\.platform is never "Discord": it is one of web, discord, telegram$/,
  ),
  "a platform that there is not among the cases of a template": says(
    'x{% case event.message.platform %}{% when "web", "slack" %}{% endcase %}',
    /text: .*event\.message\.platform is never "slack": it is one of web, discord, telegram$/,
  ),
  "a denied message in a template of a hook that sees none": says(
    'x{% unless event.access == "denied" %}{% endunless %}',
    /text: .*the hook does not see denied messages, so event\.access is never "denied": add `access: any`$/,
  ),
  "a chat with its platform in a template": says(
    'x{% if event.message.chatId == "web:general" %}{% endif %}',
    /text: .*event\.message\.chatId is never "web:general", because it has no platform: write "general"$/,
  ),
  "a platform in other letters in the condition of a step": step(
    { shell: { command: ["true"], skip_if: 'event.message.platform == "Discord"' } },
    /skip_if: .*event\.message\.platform is never "Discord": it is one of web, discord, telegram$/,
  ),
  "a part of a number in a template": says(
    "x{% if steps[0].exitCode contains '5' %}{% endif %}",
    /text: .*steps\[0\]\.exitCode is a number, and contains is for text and lists$/,
  ),
  "a word that a field never has in a template": hook(
    {
      on: "hook_run_completed",
      match: { hooks: ["none"] },
      run: { chat: { to: "web:web:general", text: "{% if 'failure' == event.outcome %}bad{% else %}well{% endif %}" } },
    },
    /text: .*event\.outcome is never "failure": it is one of succeeded, .*$/,
  ),
  "a number as a condition of a template": says(
    "{% if steps[0].failed %}red{% else %}green{% endif %}",
    /text: .*steps\[0\]\.failed is a number, which counts as true also when it is 0: write steps\[0\]\.failed > 0$/,
  ),
  "a list as a condition of a template": says(
    "{% unless event.message.attachments %}none{% else %}some{% endunless %}",
    /text: .*event\.message\.attachments is a list, which counts as true also when it is empty: write event\.message\.attachments\.size > 0$/,
  ),
  "an output as a part of a condition of a template": says(
    "x{% if event.message.replyToId or steps[0].stdout %}some{% endif %}",
    /text: .*steps\[0\]\.stdout is text, which counts as true also when it is empty: write steps\[0\]\.stdout != ""$/,
  ),
  "a person with the platform in a condition": hook(
    { ...received, match: { when: 'payload.message.userId == "web:1"' } },
    /match\.when: .*payload\.message\.userId is never "web:1", because it has no platform: write "1"$/,
  ),
  "a number in a list of texts for a person": hook(
    { ...received, match: { when: 'payload.message.userId in ["1", 5]' } },
    /match\.when: .*payload\.message\.userId is text, so a comparison with 5 \(a number\) never holds: write "5"$/,
  ),
  "a chat with the platform in a condition": hook(
    { ...received, match: { when: 'payload.message.chatId == "telegram:-1001"' } },
    /match\.when: .*payload\.message\.chatId is never "telegram:-1001", because it has no platform: write "-1001"$/,
  ),
  "a negative number for text": hook(
    { ...received, match: { when: "payload.message.chatId in [-1001, -1002]" } },
    /match\.when: .*chatId is text, so a comparison with -1002 \(a number\) never holds: write "-1002"$/,
  ),
  "a negative number for text in an event": eventHook(
    { match: { when: "payload.state == -5" } },
    { schema: { type: "object", required: ["state"], properties: { state: { type: "string" } } } },
    /payload\.state is text, so a comparison with -5 \(a number\) never holds: write "-5"/,
  ),
  "a condition on a list as the payload": unopened(LIST, { match: { when: 'payload.exists(p, p.s == "k")' } }),
  "a condition on an item of the payload": unopened(LIST, { match: { when: 'payload[0].s == "k"' } }),
  "a condition on text as the payload": unopened({ type: "string" }, { match: { when: 'payload == "red"' } }),
  "a condition on a field of a list": eventHook(
    { match: { when: 'payload.s != ""' } },
    { schema: { $ref: "#/$defs/l", $defs: { l: LIST } } },
    /payload has no field "s" \(there is value\)/,
  ),
  "a condition on a field of an entry of a list": eventHook(
    { match: { when: 'payload.value[0].t != ""' } },
    {
      schema: {
        type: "array",
        items: { $ref: "#/$defs/e" },
        $defs: { e: { ...LIST.items, additionalProperties: false } },
      },
    },
    /payload\.value\[0\] has no field "t" \(did you mean "s"\?\)/,
  ),
  "a step that is skipped by a list as the event": unopened(
    LIST,
    { context: [{ shell: { command: ["true"], skip_if: "event.size() == 0" } }] },
    "event",
  ),
  "a template about a list as the event": unopened(
    LIST,
    { run: { chat: { to: "web:web:general", text: "{% for p in event %}{{ p.s }}{% endfor %}" } } },
    "event",
  ),
  "a template about a field of a list": eventHook(
    { run: { chat: { to: "web:web:general", text: "{{ event.s }}" } } },
    { schema: LIST },
    /event has no "s"; there is value/,
  ),
  "a word in capital letters for a text in lower case": hook(
    { on: "message_sending", match: { when: '["Secret"].exists(w, payload.message.text.lowerAscii().contains(w))' } },
    /match\.when: .*\.lowerAscii\(\) has no capital letters, so those of "Secret" never fit: write them in lower case$/,
  ),
  "an output in capital letters": step(
    { shell: { command: ["true"], skip_if: 'step.stdout.lowerAscii() == "OK"' } },
    /skip_if: .*step\.stdout\.lowerAscii\(\) has no capital letters, so those of "OK" never fit: write them in lower case$/,
  ),
  "a part of a list in an event": eventHook(
    { match: { when: 'payload.l.contains("x") || payload.n.matches("5")' } },
    {
      schema: {
        required: ["l", "n"],
        properties: { l: { type: "array", items: { type: "string" } }, n: { type: "number" } },
      },
    },
    /payload\.l is a list, and contains\(\) is for text: write "x" in payload\.l[\s\S]*payload\.n is a number, and matches\(\) is for text/,
  ),
  "a number for text": step(
    { shell: { command: ["true"], skip_if: "steps[0].stdout == 5" } },
    /skip_if: .*steps\[0\]\.stdout is text, so a comparison with 5 \(a number\) never holds: write steps\[0\]\.stdout\.trim\(\) == "5"$/,
  ),
  "text among numbers": step(
    { http: { url: "https://example.org", skip_if: 'step.status in [200, "204"]' } },
    /skip_if: .*step\.status is a number, so a comparison with "204" \(text\) never holds: write 204$/,
  ),
  "a number for a list": step(
    { db_query: { query: "runs", skip_if: "step.rows == 0" } },
    /skip_if: .*step\.rows is a list.*compare its size, as in size\(…\) == 0$/,
  ),
  "a field that an earlier step lacks": hook(
    {
      ...received,
      context: [
        { read_file: { path: "hookgate.yaml" } },
        { shell: { command: ["true"], skip_if: "steps[0].exitCode == 0" } },
      ],
    },
    /skip_if: .*steps\[0\] has no field "exitCode"/,
  ),
  "a step that comes later": step(
    { shell: { command: ["true"], skip_if: "steps[4].exitCode == 0" } },
    /skip_if: .*there is no steps\[4\]: this step is steps\[0\]$/,
  ),
  "an event value of another type": step(
    { shell: { command: ["true"], skip_if: "event.message.isDm == 'yes'" } },
    /skip_if: .*event\.message\.isDm is true or false, so a comparison with "yes" \(text\) never holds$/,
  ),
  "a condition on a field of an item that no item has": hook(
    { ...received, match: { when: 'payload.message.attachments[0].tipe == "file"' } },
    /match\.when: .*payload\.message\.attachments\[0\] has no field "tipe" \(did you mean "type"\?\)$/,
  ),
  "a condition on all items with a field that none has": hook(
    { ...gate, match: { when: 'payload.tasks.exists(t, t.titel == "x")' } },
    /match\.when: .*t has no field "titel" \(did you mean "title"\?\)$/,
  ),
  "a value that no item has": hook(
    { ...gate, match: { when: 'payload.tasks.filter(t, t.status == "dne").size() > 0' } },
    /match\.when: .*t\.status is never "dne": it is one of draft/,
  ),
  "an unknown field behind an optional one": hook(
    { ...gate, match: { when: 'payload.?tasks[0].titel.orValue("") == "x"' } },
    /match\.when: .*payload\.tasks\[0\] has no field "titel"/,
  ),
  "a skip_if on a field of an item that no item has": hook(
    { ...gate, context: [{ shell: { command: ["true"], skip_if: 'event.tasks.all(t, t.titel == "x")' } }] },
    /shell\.skip_if: .*t has no field "titel"/,
  ),
  "a later step that is compared with nothing": step(
    { shell: { command: ["true"], skip_if: "steps[1].ok" } },
    /skip_if: .*there is no steps\[1\]: this step is steps\[0\]$/,
  ),
  "a text in place of a condition": step(
    { shell: { command: ["true"], skip_if: "step.stdout" } },
    /skip_if: .*step\.stdout is text, not true or false: compare it, as in step\.stdout != ""$/,
  ),
  "a number in place of a part of a condition": hook(
    { ...gate, match: { when: "payload.allPassed && !payload.avgScore" } },
    /match\.when: .*payload\.avgScore is a number, not true or false: compare it, as in payload\.avgScore > 0$/,
  ),
  "a number that is compared with a time": hook(
    { ...received, match: { when: 'payload.message.receivedAt > timestamp("2020-01-01T00:00:00Z")' } },
    /match\.when: .*receivedAt is a number, so a comparison with timestamp\("2020-01-01T00:00:00Z"\) never holds: for milliseconds, write payload\.message\.receivedAt > 1577836800000$/,
  ),
  "a number that is compared with a duration": hook(
    { ...received, match: { when: 'duration("1h") < payload.message.receivedAt' } },
    /match\.when: .*a comparison with duration\("1h"\) never holds: for milliseconds, write payload\.message\.receivedAt > 3600000$/,
  ),
  "a number that is read as a time": hook(
    { ...received, match: { when: 'timestamp(payload.message.receivedAt) > timestamp("2020-01-01T00:00:00Z")' } },
    /match\.when: .*receivedAt is a number, and timestamp\(\) takes text such as "2026-01-31T09:00:00Z": for milliseconds, write timestamp\(int\(payload\.message\.receivedAt\) \/ 1000\)$/,
  ),
  "a time zone that is none": hook(
    { ...received, match: { when: 'timestamp(int(payload.message.receivedAt) / 1000).getHours("Mars/Base") >= 18' } },
    /match\.when: .*there is no time zone "Mars\/Base": write a name such as "Europe\/Berlin"$/,
  ),
  "a month that no year has": hook(
    { ...received, match: { when: "timestamp(int(payload.message.receivedAt) / 1000).getMonth() == 12" } },
    /match\.when: .*getMonth\(\) == 12 never holds: .*getMonth\(\) is at most 11$/,
  ),
  "milliseconds that are read as seconds": hook(
    { ...received, match: { when: "timestamp(int(payload.message.receivedAt)).getHours() > 8" } },
    /match\.when: .*timestamp\(int\(payload\.message\.receivedAt\)\) is no time: timestamp\(\) takes whole seconds: for milliseconds, write timestamp\(int\(payload\.message\.receivedAt\) \/ 1000\)$/,
  ),
  "a time that a condition cannot read": hook(
    { ...received, match: { when: 'timestamp(payload.message.text) > timestamp("2020-01-01")' } },
    /match\.when: .*timestamp\("2020-01-01"\) is no time: write timestamp\("2026-01-31T09:00:00Z"\)$/,
  ),
  "text that a skip_if compares with a time": step(
    { shell: { command: ["true"], skip_if: 'step.stdout > timestamp("2020-01-01T00:00:00Z")' } },
    /skip_if: .*step\.stdout is text, so .*: write timestamp\(step\.stdout\) > timestamp\("2020-01-01T00:00:00Z"\)$/,
  ),
  "a condition of a timer": hook(
    { trigger: { every: "1h" }, match: { when: 'payload.trigger == "cron"' } },
    /match\.when: .*time starts a hook with trigger every, so there is nothing to match.*remove `match`/,
  ),
  // Templates that fail at every run, or always print nothing.
  "a field of a text of a step": hook(
    { ...received, context: [TRUE], run: { chat: { to: "web:web:general", text: "{{ steps[0].stdout.foo }}" } } },
    /chat\.text: .*steps\[0\]\.stdout has no fields, so no "foo" either$/,
  ),
  "a part of the time": chat({ text: "{{ current_time.year }}" }, /current_time has no fields, so no "year" either$/),
  "an unknown field of an item": hook(
    { ...gate, run: { chat: { to: "web:web:general", text: "{{ event.tasks[0].titel }}" } } },
    /chat\.text: .*event\.tasks\[0\] has no "titel"; did you mean "title"\?$/,
  ),
  "an unknown field of each item": hook(
    {
      ...gate,
      run: { chat: { to: "web:web:general", text: "{% for t in event.tasks %}{{ t.titel }}{% endfor %}" } },
    },
    /chat\.text: .*event\.tasks\[…\] has no "titel"; did you mean "title"\?$/,
  ),
  "an unknown field behind a name": chat(
    { text: "{% assign m = event.message %}{{ m.txt }}" },
    /chat\.text: .*event\.message has no "txt"; did you mean "text"\?$/,
  ),
  "a field of a list": hook(
    { ...gate, run: { chat: { to: "web:web:general", text: "{{ event.tasks.title }}" } } },
    /chat\.text: .*event\.tasks is a list: write event\.tasks\[0\]\.title$/,
  ),
  "an unknown field in filters": hook(
    {
      ...gate,
      run: { chat: { to: "web:web:general", text: '{{ event.tasks | where: "status", "done" | map: "titel" }}' } },
    },
    /chat\.text: .*event\.tasks\[…\] has no "titel"; did you mean "title"\?$/,
  ),
  "an unknown field in a filter of an item": hook(
    {
      ...gate,
      run: {
        chat: {
          to: "web:web:general",
          text: '{% assign done = event.tasks | sort: "title" %}{% for t in done %}{{ t.titel }}{% endfor %}',
        },
      },
    },
    /chat\.text: .*event\.tasks\[…\] has no "titel"/,
  ),
  "an unknown field by which rows are grouped": hook(
    {
      ...received,
      context: [{ db_query: { query: "runs" } }],
      run: { chat: { to: "web:web:general", text: '{{ steps[0].rows | group_by: "hok" | size }}' } },
    },
    /chat\.text: .*steps\[0\]\.rows\[…\] has no "hok"; did you mean "hook"\?$/,
  ),
  "a filter without its argument": chat(
    { text: "{{ event.message.text | append }}" },
    /chat\.text: .*the filter append needs an argument: write append: …$/,
  ),
  "a time zone of a filter that there is not": chat(
    { text: '{{ event.message.receivedAt | date: "%Y", "Europe/Berlim" }}' },
    /chat\.text: .*there is no time zone "Europe\/Berlim" \(did you mean "Europe\/Berlin"\?\)$/,
  ),
  "a text that is always empty": chat(
    { text: "{% if false %}x{% endif %}" },
    /chat\.text: .*it always prints nothing: write a text/,
  ),
  "a prompt that is always empty": agent(
    received,
    { prompt: "{% case 1 %}{% when 2 %}x{% endcase %}", tools: ["send_message"] },
    /agent\.prompt: .*it always prints nothing/,
  ),
  "a prompt of spaces": agent(
    received,
    { prompt: " \n", tools: ["send_message"] },
    /agent\.prompt: .*the prompt is empty: write what the agent shall do$/,
  ),
  "a template that fails at every run": chat(
    { text: "{% for i in (1..90000000) %}{{ i }}{% endfor %}" },
    /chat\.text: .*it fails at every run: memory alloc limit exceeded/,
  ),
  "a date format of another library": chat(
    { text: '{{ current_time | date: "YYYY-MM-DD HH:mm" }}' },
    /chat\.text: .*the date format "YYYY-MM-DD HH:mm" has no % code.*write "%Y-%m-%d %H:%M"$/,
  ),
  "an unknown field of a row": hook(
    {
      ...received,
      context: [{ db_query: { query: "tasks" } }],
      run: { chat: { to: "web:web:general", text: "{{ steps[0].rows[0].titel }}" } },
    },
    /chat\.text: .*steps\[0\]\.rows\[0\] has no "titel"; did you mean "title"\?$/,
  ),
  "an unknown field of each row": hook(
    {
      ...received,
      context: [{ journal: { of: "messages" } }],
      run: { chat: { to: "web:web:general", text: "{% for r in step_0.rows %}{{ r.usr }}{% endfor %}" } },
    },
    /chat\.text: .*step_0\.rows\[…\] has no "usr"; did you mean "user"\?$/,
  ),
  "an unknown field of a changed file": hook(
    {
      ...received,
      context: [{ git_diff: {} }],
      run: { chat: { to: "web:web:general", text: "{{ steps[0].files[0].pth }}" } },
    },
    /chat\.text: .*steps\[0\]\.files\[0\] has no "pth"; did you mean "path"\?$/,
  ),
  "an unknown field of a listed file": hook(
    {
      ...received,
      context: [{ list_files: {} }],
      run: { chat: { to: "web:web:general", text: "{{ steps[0].files.first.size_bytes }}" } },
    },
    /chat\.text: .*steps\[0\]\.files\.first has no "size_bytes"/,
  ),
  "a field of a name of a test": hook(
    {
      ...received,
      context: [{ run_tests: { command: ["true"] } }],
      run: { chat: { to: "web:web:general", text: "{{ steps[0].failures[0].name }}" } },
    },
    /chat\.text: .*steps\[0\]\.failures\[0\] has no fields, so no "name" either$/,
  ),
  "a condition on a field that no row has": step(
    { db_query: { query: "runs", skip_if: 'step.rows.all(r, r.stats == "succeeded")' } },
    /db_query\.skip_if: .*r has no field "stats" \(did you mean "status"\?\)$/,
  ),
  "a condition on a value that no row has": step(
    { db_query: { query: "runs", skip_if: 'steps[0].rows[0].status == "fialed"' } },
    /db_query\.skip_if: .*steps\[0\]\.rows\[0\]\.status is never "fialed": it is one of /,
  ),
  "ok of a step that has none": step(
    { read_file: { path: "hookgate.yaml", skip_if: "step.ok" } },
    /read_file\.skip_if: .*step has no field "ok"/,
  ),
  "ok of an earlier step that has none": hook(
    { ...received, context: [{ db_query: { query: "runs" } }, { shell: { ...TRUE.shell, skip_if: "!steps[0].ok" } }] },
    /shell\.skip_if: .*steps\[0\] has no field "ok"/,
  ),
  "a condition on a failed step": step(
    { shell: { ...TRUE.shell, skip_if: "step.timedOut" } },
    /shell\.skip_if: .*step has no field "timedOut"/,
  ),
  "a step that is empty and never can be": step(
    { create_task: { title: "x", to: "person:web:1", skip_if: "step.empty" } },
    /create_task\.skip_if: .*step has no field "empty"/,
  ),
  "a field without its payload": hook(
    { ...received, match: { when: 'message.text == "ping"' } },
    /match\.when: .*names a field without its payload: write payload\.message in place of message$/,
  ),
  "text in place of a condition on items": hook(
    { ...gate, match: { when: "payload.tasks.exists(t, t.title)" } },
    /match\.when: .*t\.title is text, not true or false: compare it, as in t\.title != ""$/,
  ),
  "text in place of a part of a condition on all items": hook(
    { ...gate, match: { when: "payload.tasks.all(t, t.status == 'done' && t.title)" } },
    /match\.when: .*t\.title is text, not true or false/,
  ),
  "text in place of a condition that selects items": hook(
    { ...gate, match: { when: "payload.tasks.filter(t, t.title).size() > 0" } },
    /match\.when: .*t\.title is text, not true or false/,
  ),
  "a condition that names nothing": hook(
    { ...received, match: { when: "1 == 2" } },
    /match\.when: .*"1 == 2" names no field, so its result is always the same/,
  ),
  "a user id as a number": hook(
    { ...received, match: { when: "payload.message.userId in [1]" } },
    /match\.when: .*payload\.message\.userId is text, so a comparison with 1 \(a number\) never holds: write "1"$/,
  ),
  "a number field as text": hook(
    { on: "hook_run_completed", match: { when: 'payload.durationMs > "1000"' } },
    /match\.when: .*payload\.durationMs is a number, so a comparison with "1000" \(text\) never holds: write 1000$/,
  ),
  "a result that is never empty": step(
    { create_task: { title: "x", to: "person:web:1", skip_if: "empty" } },
    /create_task\.skip_if: .*the result of create_task is never empty/,
  ),
  // Settings without an effect.
  "skip_when without a condition": hook({ ...received, skip_when: "all" }, /skip_when: .*no step has a skip_if/),
  "a queue that is not used": hook(
    { ...received, when_busy: "skip", max_queued: 5 },
    /max_queued: .*no run waits with when_busy: skip: remove max_queued, or set when_busy: queue$/,
  ),
  "a queue of a hook that skips by default": hook(
    { trigger: { every: "1h" }, max_queued: 5 },
    /max_queued: .*no run waits with when_busy: skip, the default of trigger every: remove max_queued, or set when_busy: queue$/,
  ),
  "a notification of runs that are never skipped": hook(
    { trigger: "manual", notify: { on: ["skipped"] } },
    /notify\.on\.0: .*no step has a skip_if, and the person who fires the hook reads what a gate refused/,
  ),
  "a notification of blocks by a message": hook(
    { on: "inbound_claim", run: { chat: { to: "web:web:general", text: "x" } }, notify: { on: ["blocked"] } },
    /notify\.on\.0: .*nothing that this hook decides can block anything/,
  ),
  "denied messages where none come": hook(
    { on: "inbound_claim", match: { access: "any" } },
    /match\.access: .*denied messages do not reach inbound_claim, so match\.access has no effect/,
  ),
  "the name of templates in a condition": hook(
    { ...received, match: { when: 'event.message.text == "x"' } },
    /match\.when: .*conditions name it `payload`: write payload in place of event$/,
  ),
  "a list without files": step(
    { list_files: { path: ".", ignore: ["**"] } },
    /list_files\.ignore\.0: .*"\*\*" leaves out every file, so the list is always empty/,
  ),
  "a file compared with itself": step(
    { file_diff: { path: "hookgate.yaml", against: "./hookgate.yaml" } },
    /file_diff\.against: .*is the file itself, so nothing ever differs/,
  ),
  "a person of a platform that is off": hook(
    { ...received, match: { users: ["discord:123"] } },
    /hook h\d+: it is for discord, which is off$/,
  ),
  // A plugin that is broken might have brought the command, so these are not in the file that has them all.
  "a command with its slash in a condition": {
    ...hook(
      { on: "command_invoked", match: { when: 'payload.command == "/status"' } },
      /match\.when: payload\.command has no slash: write "status"$/,
    ),
    alone: true,
  },
  "a command of Hookgate, compared with the text of a message that is offered": hook(
    { on: "inbound_claim", match: { when: 'payload.message.text == "/help"' } },
    /match\.when: \/help is a command of Hookgate, which is answered before inbound_claim: no message with it gets there/,
  ),
  "a command of Hookgate as the start of a text": hook(
    { on: "inbound_claim", match: { when: 'payload.message.isDm && payload.message.text.startsWith("/task add")' } },
    /match\.when: \/task is a command of Hookgate, which is answered before inbound_claim/,
  ),
  "a command that does not exist in a condition": {
    ...hook(
      { on: "command_invoked", match: { when: 'payload.command in ["help", "statsu"]' } },
      /match\.when: there is no command "statsu" \(did you mean "status"\?\)$/,
    ),
    alone: true,
  },
  "a relative path where the path is absolute": hook(
    { trigger: { files: { paths: ["posts/*.md"] } }, match: { when: 'payload.path.startsWith("posts/")' } },
    /match\.when: payload\.path is absolute, so "posts\/" never fits: compare payload\.relativePath/,
  ),
  "a whole number that no event can carry": eventHook(
    { match: { when: "payload.id in [1, 1576796294934953986]" }, run: { shell: { sh: "exit 1" } } },
    {},
    /match\.when: .*1576796294934953986 is beyond 2\^53, and no payload has such a number: compare with text, "1576796294934953986"/,
  ),
  "a hook that does not exist in a condition": hook(
    { on: "hook_run_completed", match: { when: 'payload.hookId == "nohook"' } },
    /match\.when: there is no hook "nohook"/,
  ),
  "sees where nothing is modified": hook(
    { on: "inbound_claim", sees: "original" },
    /sees: .*inbound_claim is a claiming point, and sees has an effect at modifying points only/,
  ),
  "a notification without a chat": hook(
    { trigger: { every: "1h" }, notify: { to: ["here"] } },
    /notify\.to\.0: .*is about no conversation, so there is no "here": name a chat/,
  ),
  "a message to no chat about an event": eventHook(
    { run: { chat: { text: "deployed" } } },
    {},
    /run\.chat\.to: .*no chat is named, and the schema of event:deployed has none: name a chat, such as to: "web:web:general", or write to: here when/,
  ),
  "a message to no chat about an event with other fields": eventHook(
    { run: { chat: { text: "deployed" } } },
    { schema: { type: "object", properties: { version: { type: "string" } } } },
    /run\.chat\.to: .*no chat is named, and the schema of event:deployed has none/,
  ),
  "a message about an event that has no chat": eventHook(
    { run: { chat: { text: "deployed", to: "here" } } },
    { schema: { type: "object", properties: { version: { type: "string" } }, additionalProperties: false } },
    /run\.chat\.to: .*event:deployed is about no conversation, so there is no "here": name a chat/,
  ),
  "a notification in no chat about an event that has none": eventHook(
    { run: { shell: { sh: "exit 1" } }, notify: { to: ["here"] } },
    { schema: { type: "object", properties: { version: { type: "string" } }, additionalProperties: false } },
    /notify\.to\.0: .*event:deployed is about no conversation, so there is no "here": name a chat, such as to: \["web:web:general"\]/,
  ),
  "a notification of what is never blocked": hook(
    { trigger: "manual", notify: { on: ["failed", "blocked"], to: ["web:web:general"] } },
    /notify\.on\.1: .*nothing that this hook decides can block anything, so no run is blocked: remove it$/,
  ),
  "a priority of a timer": hook(
    { trigger: { every: "1h" }, priority: 5 },
    /priority: .*each run of this hook starts alone, so it has no place among other hooks: remove it$/,
  ),
  "a step that outlasts its run": hook(
    { ...received, timeout: "5s", context: [{ shell: { command: ["true"], timeout: "10m" } }] },
    /shell\.timeout: .*the step cannot take 10 min, because the run ends after 5 s \(`timeout` of the hook\): set `timeout` of the hook to 10m or more$/,
  ),
  "an attempt that outlasts its run": hook(
    { on: "inbound_claim", run: { http: { url: "https://example.org", timeout: "20s" } } },
    /http\.timeout: .*an attempt cannot take 20 s, because the run ends after 5 s \(the default\)/,
  ),
  "a veto by exit code where nothing is decided": hook(
    { ...received, run: { shell: { command: ["true"], decision: "status" } } },
    /shell\.decision: .*nothing can be decided at message_received, so a decision has no effect: remove `decision`$/,
  ),
  "a veto by status that nothing waits for": hook(
    { on: "inbound_claim", execution: "background", run: { http: { url: "https://example.org", decision: "status" } } },
    /http\.decision: .*nothing waits for a hook that is background.*remove `decision`$/,
  ),
  "a time that the clocks skip": hook(
    { trigger: { at: "2099-03-29T02:30", timezone: "Europe/Berlin" } },
    /trigger\.at: .*the clocks of Europe\/Berlin skip this time: write 2099-03-29T03:30, or give an offset/,
  ),
  "an interval of years": hook(
    { trigger: { every: "400d" } },
    /trigger\.every: .*expected 366 days or less: for a date, use `at` or `cron`/,
  ),
  "ignored files that are all files": hook(
    { trigger: { files: { paths: ["in/*.csv", "out/"], ignore: ["**/.git/**", "**"] } } },
    /trigger\.files\.ignore: .*"\*\*" leaves out everything that `paths` names, so no change starts the hook/,
  ),
  "ignored files that are all that a glob names": hook(
    { trigger: { files: { paths: ["../w/*.conf"], ignore: ["**/*.conf"] } } },
    /trigger\.files\.ignore: .*"\*\*\/\*\.conf" leaves out everything that `paths` names/,
  ),
  "an address in place of files": hook(
    { trigger: { files: { paths: ["https://example.org/x"] } } },
    /trigger\.files\.paths.*: .*expected a path on this machine, got the address of a server/,
  ),
  "a condition on a change that does not count": hook(
    {
      trigger: { files: { paths: "in/*", operations: ["created"] } },
      match: { when: 'payload.operation == "deleted"' },
    },
    /match\.when: .*payload\.operation is never "deleted": it is one of created$/,
  ),
  "a chat with an empty thread": chat(
    { to: "web:web:general:", text: "x" },
    /chat\.to: .*"web:web:general:" ends with a colon: remove the colon/,
  ),
  "ignored files outside of the folder": hook(
    { trigger: { files: { paths: ["in/*.csv"], ignore: ["../old/**"] } } },
    /trigger\.files\.ignore\.0: .*"\.\.\/old\/\*\*" leaves out nothing: a pattern is compared with paths below the folder/,
  ),
  "a time zone beside an offset": hook(
    { trigger: { at: "2099-12-24T18:00Z", timezone: "Europe/Berlin" } },
    /trigger\.timezone: .*`at` has an offset, so the time zone has no effect/,
  ),
  "a first pause above the longest": hook(
    { ...received, run: { http: { url: "https://example.org", backoff: "5m" } } },
    /http\.backoff: .*no pause is longer than `max_backoff`/,
  ),
  "a login written twice": hook(
    {
      ...received,
      run: {
        http: { url: "https://example.org", headers: { Authorization: "x" }, auth: { bearer_env: "HOOKGATE_TOKEN" } },
      },
    },
    /headers\.Authorization: .*`auth` sets this header, too: remove one$/,
  ),
  "a header that Hookgate sets": hook(
    { ...received, run: { http: { url: "https://example.org", headers: { Host: "x" } } } },
    /headers\.Host: .*Hookgate sets the header Host itself: remove it$/,
  ),
  "a header of two lines": hook(
    { ...received, run: { http: { url: "https://example.org", headers: { "X-A": "a\nb" } } } },
    /headers\.X-A: .*a line break.*write it in one line$/,
  ),
  "a variable given twice": hook(
    { ...received, run: { shell: { command: ["true"], env: { PATH_X: "y" }, secrets: ["PATH_X"] } } },
    /env\.PATH_X: .*PATH_X is in `secrets`, too, and that value is used: remove one$/,
  ),
  "a time zone without a day": chat({ text: "x", timezone: "Europe/Berlin" }, /chat\.timezone: .*set thread: day/),
  "an edit in a thread for each run": chat(
    { text: "x", thread: "run", update: true },
    /chat\.update: .*each run has a thread of its own/,
  ),
  "a mention by name": chat(
    { text: "x", mentions: { users: ["@ann"] } },
    /mentions\.users\.0: .*expected a number, as platforms identify users, got "@ann"$/,
  ),
  "a person who is allowed to be notified and is not mentioned": chat(
    { text: "deploy failed", mentions: { users: ["1001"] } },
    /chat\.mentions\.users\.0: .*the text has no <@1001>, so this notifies no one: add it to the text$/,
  ),
  "a role without its mention": chat(
    { text: "deploy failed <@77>", mentions: { roles: ["77"] } },
    /chat\.mentions\.roles\.0: .*the text has no <@&77>, so this notifies no one/,
  ),
  "everyone without the mention": chat(
    { text: "deploy failed", mentions: { everyone: true } },
    /chat\.mentions\.everyone: .*the text has no @everyone, so this notifies no one/,
  ),
  // What does not exist.
  "tests by a program that is not there": step(
    { run_tests: { command: ["no-such-runner"] } },
    /there is no program "no-such-runner" on the PATH$/,
  ),
  "a program without a name": step({ shell: { command: [""] } }, /shell\.command\.0: .*expected the name or the path/),
  "a program without the right to run": hook(
    { ...received, run: { shell: { command: ["./plain.sh"] } } },
    /the program .*plain\.sh may not be executed: run `chmod \+x .*plain\.sh`, or start it by its interpreter/,
    { "plain.sh": "exit 0\n" },
  ),
  "a script that the shell cannot read": hook(
    { on: "message_sending", run: { shell: { sh: "if true; then echo" } } },
    /\/bin\/sh cannot read `sh`: .*[Ss]yntax error/,
  ),
  "a folder for a program": step({ shell: { command: ["./"] } }, /is a folder, and a program is needed$/),
  "a task without a title": step({ create_task: { title: " ", to: "person:web:1" } }, /title: .*not empty$/),
  "rows of no hook": step({ journal: { hook: "nosuch" } }, /there is no hook "nosuch".*so no row matches$/),
  "rows of no platform": step(
    { db_query: { query: "messages", args: { platform: "discrod" } } },
    /args\.platform: .*there is no platform "discrod" \(did you mean "discord"\?\)$/,
  ),
  "a Discord chat by its name": chat(
    { to: "discord:1:ann", text: "x" },
    /discord:1:ann cannot be reached: "ann" is no chat of discord, which has numbers/,
  ),
  "a Telegram chat by its name": chat(
    { to: "telegram:1:@x", text: "x" },
    /telegram:1:@x cannot be reached: "@x" is no chat of telegram, which has numbers/,
  ),
  "a Telegram topic by its name": hook(
    { ...received, notify: { to: ["telegram:1:-100:news"] } },
    /telegram:1:-100:news cannot be reached: "news" is no topic of telegram/,
  ),
  "a Discord thread after its channel": agent(
    received,
    { tools: ["send_message"], send_to: ["discord:1:2:3"] },
    /discord:1:2:3 cannot be reached: a thread of discord is a chat of its own: write discord:1:3$/,
  ),
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
  "an empty text": chat({ text: " " }, /run\.chat\.text: .*the message is empty/),
  "a card with nothing in it": chat({ card: { footer: "x" } }, /run\.chat\.card: .*the message is empty/),
  "a card with an address that is none": chat(
    { card: { title: "x", url: "javascript:alert(1)" } },
    /card\.url: .*starts with https: or http:/,
  ),
  "a card with an address that no value completes": chat(
    { card: { title: "x", url: "/x/{{ event.message.text }}" } },
    /card\.url: .*expected an address that starts with https: or http:, got "\/x\//,
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
  "a form without a title": press(
    {
      label: "Go",
      action: { kind: "command", line: "/status", form: { title: "", fields: [{ id: "x", label: "X" }] } },
    },
    /form\.title: .*the text is empty/,
  ),
  "a form with a field without a label": press(
    {
      label: "Go",
      action: { kind: "command", line: "/status", form: { title: "T", fields: [{ id: "x", label: "" }] } },
    },
    /form\.fields\.0\.label: .*the text is empty/,
  ),
  "a form with two fields of one id": press(
    {
      label: "Go",
      action: {
        kind: "command",
        line: "/status",
        form: { title: "T", fields: [1, 2].map((n) => ({ id: "x", label: `X${n}` })) },
      },
    },
    /form\.fields\.1\.id: .*another field of this form has the id "x"/,
  ),
  "a form with a long id": press(
    {
      label: "Go",
      action: {
        kind: "command",
        line: "/status",
        form: { title: "T", fields: [{ id: "x".repeat(101), label: "X" }] },
      },
    },
    /form\.fields\.0\.id: .*expected at most 100 characters, got 101/,
  ),
  "a button with an unknown command": press(
    { label: "Go", action: { kind: "command", line: "/stauts now" } },
    /the button "Go": there is no command \/stauts \(did you mean \/status\?\)/,
  ),
  "a button with a slip in an action that has a filter": {
    ...press(
      { label: "Go", action: { kind: "command", line: "/hooks wy" } },
      /the button "Go": "\/hooks wy" cannot work: no hook is called "wy" \(did you mean why\?\)$/,
    ),
    // A broken plugin may have the hook.
    alone: true,
  },
  "a button for no hook": {
    ...press(
      { label: "Go", action: { kind: "command", line: "/fire-hook inbound_clam" } },
      /"\/fire-hook inbound_clam" cannot work: there is no hook or hook point "inbound_clam" \(did you mean "inbound_claim"\?\)$/,
    ),
    // A broken plugin may have the hook.
    alone: true,
  },
  "a button with an unknown action": press(
    { label: "Go", action: { kind: "command", line: "/task frob" } },
    /the button "Go": "\/task frob" cannot work: action is one of .*, not "frob"/,
  ),
  "a button that adds a task without a title": press(
    { label: "Go", action: { kind: "command", line: "/task add" } },
    /the button "Go": "\/task add" cannot work: add needs the option "text"$/,
  ),
  "a button without a required option": press(
    { label: "Go", action: { kind: "command", line: "/add-task due=2h" } },
    /the button "Go": "\/add-task due=2h" cannot work: title is missing$/,
  ),
  "a button with an unknown option": press(
    { label: "Go", action: { kind: "command", line: "/task list --dew=2h" } },
    /"\/task list --dew=2h" cannot work: there is no option "dew"/,
  ),
  "a button with a word for a number": press(
    { label: "Go", action: { kind: "command", line: "/task add me title={{ event.message.text }} priority=high" } },
    /cannot work: priority is a whole number, not "high"/,
  ),
  "a button whose form has an unknown option": press(
    {
      label: "Go",
      action: {
        kind: "command",
        line: "/task add me",
        form: { title: "T", fields: [{ id: "titel", label: "Title" }] },
      },
    },
    /"\/task add me" cannot work: there is no option "titel"/,
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
  "a secret that is an ordinary word": {
    ...hook(
      { ...received, run: { shell: { command: ["true"], secrets: ["PLAIN_WORD"] } } },
      /the value of PLAIN_WORD is not masked in logs and history, because .* plain word or number: use a longer one$/,
    ),
    env: { PLAIN_WORD: "test" },
    alone: true,
  },
  // Hooks that are named.
  "a template in a fallback": hook(
    {
      on: "message_sending",
      on_failure: "fallback",
      fallback: { message: { text: "you said {{ event.message.text }}" } },
    },
    /fallback\.message\.text: .*a fallback is used as it is written, so no template in it is filled in: write a fixed text$/,
  ),
  "a fallback of another point": hook(
    { on: "mission:execute", phase: "before", on_failure: "fallback", fallback: { plan: "two" } },
    /fallback: unknown field "plan" \(there is mission\)/,
  ),
  "a template without json in a JSON body": hook(
    { ...received, run: { http: { url: "https://example.com", body: '{"a": {{ event.message.text }}}' } } },
    /http\.body: .*the value of \{\{ event\.message\.text \}\} would be a part of the JSON, and could add fields: .*`\| json`/,
  ),
  "a template between quotes in JSON for a program": hook(
    { ...received, run: { shell: { command: ["wc"], stdin: '{"t":"{{ event.message.text }}"}' } } },
    /shell\.stdin: .*a value with a quote in it would end the text around \{\{ event\.message\.text \}\} and could add fields: write the template without quotes and with `\| json`/,
  ),
  "a template without json in a JSON list": hook(
    { ...received, run: { http: { url: "https://example.com", body: "[{{ event.message.text | upcase }}]" } } },
    /http\.body: .*would be a part of the JSON, and could add fields/,
  ),
  "a value in the server of a card's address": chat(
    { card: { title: "x", url: "https://ci.example.org{{ event.message.text }}" } },
    /card\.url: .*would decide which server the address leads to: start with the server's name/,
  ),
  "a value in the server of a button's address": press(
    { label: "Open", url: "https://{{ event.message.text }}.example.org/" },
    /buttons\.0\.0\.url: .*would decide which server the address leads to: start with the server's name/,
  ),
  "a value in the server of a link in a text": chat(
    { text: "[Open](https://ci.example.org{{ event.message.text }})" },
    /text: .*the link to https:\/\/ci\.example\.org\{\{ .* \}\}: .*would decide which server the address leads to/,
  ),
  "a link in a text whose address is put together": chat(
    { text: "{% assign u = 'https://ci.example.org/b/' | append: event.message.text %}[Open]({{ u }})" },
    /text: .*the link to \{\{ u \}\}: .*would decide which server the address leads to/,
  ),
  "a login in the address of a request": hook(
    { ...received, run: { http: { url: "https://user:pw@example.com/" } } },
    /http\.url: .*a login in the address is not sent: remove it, and write `auth: /,
  ),
  "a login in the address of a step": step(
    { http: { url: "https://user:pw@example.com/{{ event.message.text }}" } },
    /http\.url: .*a login in the address is not sent/,
  ),
  "a login in an address that is a secret": {
    ...hook(
      { ...received, run: { http: { url_env: "ADDRESS_WITH_LOGIN" } } },
      /the environment variable ADDRESS_WITH_LOGIN holds an address with a login: /,
    ),
    env: { ADDRESS_WITH_LOGIN: "https://user:pw@example.com/" },
    alone: true,
  },
  "a port that cannot be": hook(
    { ...received, run: { http: { url: "https://example.org:99999/" } } },
    /http\.url: .*a server or a port that cannot be: .*up to 65535, got "https:/,
  ),
  "an unknown field of a fallback": hook(
    { on: "task:create", phase: "before", on_failure: "fallback", fallback: { titel: "x" } },
    /fallback: unknown field "titel" \(did you mean "title"\?\)/,
  ),
  "a fallback that changes what cannot be changed": hook(
    { on: "task:complete", phase: "before", on_failure: "fallback", fallback: { taskId: "t_other" } },
    /fallback: unknown field "taskId"/,
  ),
  "a fallback that forwards to no room": hook(
    {
      on: "inbound_claim",
      on_failure: "fallback",
      fallback: { handled: true, routeTo: { platform: "web", botId: "web", chatId: "genral" } },
    },
    /fallback\.routeTo: there is no room "genral" in the web chat/,
  ),
  "a fallback that forwards to no platform": hook(
    {
      on: "inbound_claim",
      on_failure: "fallback",
      fallback: { handled: true, routeTo: { platform: "Web", botId: "web", chatId: "general" } },
    },
    /fallback\.routeTo: there is no platform "Web" \(did you mean "web"\?\)/,
  ),
  "a fallback that claims nothing": hook(
    { on: "inbound_claim", on_failure: "fallback", fallback: { handled: false } },
    /fallback: .*this fallback changes nothing, as if the hook had not run: write on_failure: open, and remove `fallback`$/,
  ),
  "a fallback that modifies nothing": hook(
    { on: "message_sending", on_failure: "fallback", fallback: {} },
    /fallback: .*this fallback changes nothing.*write on_failure: open/,
  ),
  "a fallback that cancels nothing": hook(
    { on: "message_sending", on_failure: "fallback", fallback: { cancel: false } },
    /fallback: .*this fallback changes nothing.*write on_failure: open/,
  ),
  "a fallback with a deadline that is no time": hook(
    { on: "task:create", phase: "before", on_failure: "fallback", fallback: { deadline: "soon" } },
    /fallback\.deadline: .*expected a time such as .*got "soon"$/,
  ),
  "a fallback with a deadline that is over": hook(
    { on: "task:create", phase: "before", on_failure: "fallback", fallback: { deadline: "2020-01-01T00:00Z" } },
    /fallback\.deadline: 2020-01-01T00:00:00\.000Z is in the past, so the task would be refused$/,
  ),
  "a fallback for no runner": hook(
    { on: "task:create", phase: "before", on_failure: "fallback", fallback: { assignTo: "nobdy" } },
    /fallback\.assignTo: There is no runner or person "nobdy"/,
  ),
  "a matcher of no room": hook(
    { ...received, match: { chats: ["web:nowhere"] } },
    /match\.chats: there is no room "nowhere" in the web chat.*so this never matches/,
  ),
  "a matcher of a person by name alone": hook(
    { ...received, match: { users: ["7", "bob"] } },
    /match\.users: "bob" is no id of a person, which is a number that \/whoami shows, so this never matches$/,
  ),
  "a matcher of no person of the one platform": hook(
    { ...received, match: { platforms: ["web"], users: ["99"] } },
    /match\.users: there is no person 99 in the web chat.*so this never matches/,
  ),
  "a matcher of no chat": hook(
    { ...received, match: { chats: ["genral"] } },
    /match\.chats: there is no room "genral" in the web chat \(did you mean "general"\?\), and chats of other platforms have numbers, so this never matches$/,
  ),
  "a matcher of a chat with the account of the bot": hook(
    { ...received, match: { chats: ["discord:123:456"] } },
    /match\.chats: "discord:123:456" has the account of the bot: write discord:456, without it, so this never matches$/,
  ),
  "a matcher of no person": hook(
    { ...received, match: { users: ["web:99"] } },
    /match\.users: there is no person 99 in the web chat.*so this never matches/,
  ),
  "a matcher of a chat by its name": hook(
    { ...received, match: { chats: ["discord:general"] } },
    /match\.chats: "general" is no chat of discord.*so this never matches$/,
  ),
  "a matcher of a person by name": hook(
    { ...received, match: { users: ["telegram:@ann"] } },
    /match\.users: "@ann" is no id of telegram.*so this never matches$/,
  ),
  "a matcher of a person as an address": hook(
    { ...received, match: { users: ["web:web:1"] } },
    /match\.users: "web:web:1" is no person: write web:ID, with the id that \/whoami shows, so this never matches$/,
  ),
  "a matcher of a person as a role": hook(
    { ...received, match: { users: ["discord:role:5"] } },
    /match\.users: "discord:role:5" is no person: write discord:ID, with the id that \/whoami shows, so this never matches$/,
  ),
  "a matcher of a person of no id": hook(
    { ...received, match: { users: ["web:"] } },
    /match\.users: "web:" is no person: write web:ID, with the id that \/whoami shows, so this never matches$/,
  ),
  "a matcher of a person with a negative number": hook(
    { ...received, match: { users: ["-5"] } },
    /match\.users: "-5" is no id of a person, which is a number that \/whoami shows, so this never matches$/,
  ),
  "a matcher of a chat of another platform": hook(
    { ...received, match: { platforms: ["web"], chats: ["discord:123"] } },
    /match\.chats\.0: .*discord:123 is not of web, which match\.platforms asks for, so this never matches$/,
  ),
  "folders that no hook watches": hook(
    { on: "folder.changed" },
    /no hook watches files, so folder\.changed never fires: .*write `trigger: \{ files: \{ paths: \[\.\/in\], as: folder \} \}`$/,
  ),
  "a hook before a point that does not wait": hook(
    { on: "orchestrator:tick", phase: "before" },
    /on: .*orchestrator:tick does not wait for its `before` hooks, so this hook would never run: write `phase: after`/,
  ),
  "a hook in the background when the gateway stops": hook(
    { on: "orchestrator:shutdown", phase: "after", execution: "background" },
    /execution: .*the gateway ends after orchestrator:shutdown, .*expected deadline, got background/,
  ),
  "a failure policy before the gateway stops": hook(
    { on: "orchestrator:shutdown", phase: "before", on_failure: "closed" },
    /on_failure: .*a failure at orchestrator:shutdown stops nothing, so on_failure can only be open/,
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
