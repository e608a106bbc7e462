import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { LoadedHooks } from "../../../src/automations/definition/load.js";
import { readHooks } from "../../../src/automations/definition/read-hooks.js";
import { eventPoint } from "../../../src/automations/triggers/event-point.js";
import type { Address } from "../../../src/domain/chat/address.js";
import { catalogue } from "../../../src/hooks/catalogue/index.js";
import { definePoint } from "../../../src/hooks/point.js";
import type { AnyPoint } from "../../../src/hooks/signatures.js";
import { parseYaml } from "../../../src/lib/validation/yaml-source.js";
import { lifecyclePoint } from "../support/points.js";

/** As a plugin declares it. */
const ircPoint = definePoint({
  name: "plugin:irc:said",
  model: "void",
  payload: z.object({ platform: z.string(), userId: z.string() }),
  summary: "Somebody said something on IRC.",
  example: { platform: "irc", userId: "ada" },
});

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** `files`: hookgate.yaml and what lies under hooks/. */
function load(files: Record<string, string>): LoadedHooks {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-load-"));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const yaml = parseYaml(files["hookgate.yaml"] ?? "");
  const hooks = (yaml.value as { hooks?: unknown[] } | undefined)?.hooks ?? [];
  const points: AnyPoint[] = [...catalogue, lifecyclePoint, ircPoint, eventPoint("deploy", {})];
  return readHooks(
    { file: join(folder, "hookgate.yaml"), hooks, placeOf: yaml.placeOf },
    {
      points: new Map(points.map((point) => [point.name, point])),
      events: ["deploy"],
      secret: (name) => ({ KNOWN_SECRET: "known", WRONG_KEY: "whsec_%%%" })[name],
      models: ["fast"],
    },
  );
}

/** `line path: message` of every problem of one hook under `hooks:`, which begins in line 2. */
function problemsOf(hook: string): string[] {
  const indented = hook.trim().split("\n").join("\n    ");
  const { broken, definitions } = load({ "hookgate.yaml": `hooks:\n  - ${indented}\n` });
  expect(definitions).toEqual([]);
  return broken.flatMap(({ problems }) => problems.map(({ line, path, message }) => `${line} ${path}: ${message}`));
}

const RUN = "run: { shell: { command: [echo] } }";

describe("definitions", () => {
  test("refuse a template in the name of a setting, which would be sent as it is written", () => {
    expect(
      problemsOf(`id: x
on: task:fail
phase: after
run: { http: { url: "https://x.example", body: { fields: [{ "{{ event.taskId }}": "{{ event.reason }}" }] } } }`),
    ).toEqual([expect.stringMatching(/^\d+ run\.http\.body\.fields\.0\..*is not rendered: write the name as it is/)]);
  });

  test("are read from hookgate.yaml and from the files of hooks/: one, a list, or under hooks:", () => {
    const { definitions, broken } = load({
      "hookgate.yaml": `hooks:\n  - { id: a, on: message_received, ${RUN} }\n`,
      "hooks/b.yaml": `id: b\non: message_received\n${RUN}\n`,
      "hooks/more/c.yml": `- { id: c, on: message_received, ${RUN} }\n- { id: d, on: message_received, ${RUN} }\n`,
      "hooks/upper.YAML": `{ id: u, on: message_received, ${RUN} }\n`,
      "hooks/z.yaml": `hooks:\n  - { id: e, on: message_received, ${RUN} }\n`,
      "hooks/notes.txt": "not: [a definition",
      "hooks/.hidden.yaml": "id: hidden",
    });
    expect(broken).toEqual([]);
    expect(definitions.map(({ id }) => id)).toEqual(["a", "b", "c", "d", "u", "e"]);
    expect(definitions[2]?.place).toMatchObject({ line: 1, column: 3 });
    expect(definitions[2]?.folder).toMatch(/hooks.more$/);
  });

  test("the form of the contract is taken as it stands", () => {
    const { definitions, broken } = load({
      "hookgate.yaml": `
hooks:
  - id: night-watch
    description: Ask the on-call agent when a task fails at night
    on: task:fail
    phase: after
    match: { agents: [deployer], when: 'payload.reason.contains("timeout")' }
    context:
      - shell: { command: [git, log, --oneline, -5], timeout: 10s, skip_if: exit_zero }
    run:
      agent: { prompt: "Task {{ event.taskId }} failed. {{ steps[0].stdout }}", tools: [list_hooks, send_message] }
    execution: background
    timeout: 5m
    on_failure: open
    cooldown: 1h
    concurrency: 1
    retry: { attempts: 3, backoff: 30s }
`,
    });
    expect(broken).toEqual([]);
    expect(definitions[0]).toMatchObject({
      id: "night-watch",
      trigger: { kind: "on", hook: "task:fail", phase: "after" },
      point: "task:fail",
      phase: "after",
      match: { access: "allowed", agents: ["deployer"] },
      context: [{ timeoutMs: 10_000, required: false }],
      execution: "background",
      timeoutMs: 300_000,
      cooldownMs: 3_600_000,
      retry: { attempts: 3, backoffMs: 30_000 },
      whenBusy: "queue",
    });
  });

  test("what events and plugins bring may be of platforms of their own", () => {
    const { broken } = load({
      "hookgate.yaml": `
hooks:
  - { id: a, trigger: { event: deploy }, match: { platforms: [ios] }, ${RUN} }
  - { id: b, on: "plugin:irc:said", match: { platforms: [irc], users: ["irc:ada"] }, ${RUN} }
`,
    });
    expect(broken).toEqual([]);
  });

  test("a hook blocks where it can veto and runs in the background elsewhere, unless it says otherwise", () => {
    const { definitions } = load({
      "hookgate.yaml": `
hooks:
  - { id: a, on: message_sending, ${RUN} }
  - { id: b, on: message_sent, ${RUN} }
  - { id: c, trigger: { every: 5m }, ${RUN} }
  - { id: d, trigger: { event: deploy }, ${RUN} }
  - { id: e, trigger: { files: { paths: "*.md", as: folder } }, ${RUN} }
  - { id: f, trigger: manual, ${RUN} }
  - { id: g, on: message_received, execution: deadline, ${RUN} }
`,
    });
    expect(definitions.map(({ point, execution, whenBusy }) => `${point} ${execution} ${whenBusy}`)).toEqual([
      "message_sending blocking queue",
      "message_sent background queue",
      "hook.due background skip",
      "event:deploy background queue",
      "folder.changed background queue",
      "hook.due background skip",
      "message_received deadline queue",
    ]);
    expect(definitions[4]?.match).toMatchObject({ watches: ["e"] });
  });

  test.each([
    [
      "an unknown hook point",
      `id: a\non: mesage_received\n${RUN}`,
      ['3 on: there is no hook point "mesage_received" (did you mean "message_received"?)'],
    ],
    [
      "an event that nobody declares",
      `id: a\ntrigger: { event: deplyo }\n${RUN}`,
      [
        '3 trigger.event: no configuration declares the event "deplyo": name it under `events:` (did you mean "deploy"?)',
      ],
    ],
    [
      "a bad cron expression",
      `id: a\ntrigger:\n  cron: "61 * * * *"\n${RUN}`,
      [expect.stringMatching(/^4 trigger\.cron: "61 \* \* \* \*" is no cron expression/)],
    ],
    [
      "a bad pattern",
      `id: a\non: message_received\nmatch:\n  tools: ["("]\n${RUN}`,
      [expect.stringMatching(/^5 match\.tools: "\(" is no RE2 pattern/)],
    ],
    [
      "bad CEL",
      `id: a\non: message_received\nmatch:\n  when: "payload.message. =="\n${RUN}`,
      [expect.stringMatching(/^5 match\.when: /)],
    ],
    [
      "a CEL field that the payload lacks",
      `id: a\non: message_received\nmatch:\n  when: payload.mesage.text == "x"\n${RUN}`,
      [expect.stringMatching(/^5 match\.when: .*mesage/)],
    ],
    [
      "a template in notify.to, which nothing fills in, and texts there that are no address",
      `id: a\non: message_received\nnotify:\n  to: ["{{ event.where }}", "web:web:{{ event.room }}", "#general"]\n${RUN}`,
      [
        "5 notify.to.0: notify.to takes no template: write an address, or here",
        "5 notify.to.1: notify.to takes no template: write an address, or here",
        '5 notify.to.2: expected here, or platform:bot:chat or platform:bot:chat:thread, got "#general"',
      ],
    ],
    [
      "platforms that there are not, alone and before an id",
      `id: a\non: message_received\nmatch:\n  platforms: [web, discrod]\n  users: ["1", "telegarm:2"]\n  chats: ["irc:3"]\n${RUN}`,
      [
        '5 match.platforms.1: there is no platform "discrod" (did you mean "discord"?)',
        '7 match.chats.0: there is no platform "irc"',
        '6 match.users.1: there is no platform "telegarm" (did you mean "telegram"?)',
      ],
    ],
    [
      "an unknown step",
      `id: a\non: message_received\ncontext:\n  - shel: { command: [a] }\n${RUN}`,
      ['5 context.0.shel: there is no step "shel" (did you mean "shell"?)'],
    ],
    [
      "an unknown handler",
      "id: a\non: message_received\nrun: { agnt: {} }",
      ['4 run.agnt: there is no handler "agnt" (did you mean "agent"?)'],
    ],
    [
      "two handlers",
      "id: a\non: message_received\nrun: { shell: {}, http: {} }",
      ["4 run: expected exactly one handler, got shell and http"],
    ],
    [
      "an unknown template field",
      `id: a\non: message_received\nrun:\n  shell:\n    command: [echo, "{{ event.mesage.text }}"]`,
      ['6 run.shell.command.1: event has no "mesage"; did you mean "message"?'],
    ],
    [
      "a template that names a later step",
      `id: a\non: message_received\ncontext:\n  - shell: { command: [a] }\nrun: { shell: { command: [echo, "{{ steps[1].stdout }}"] } }`,
      [expect.stringMatching(/^6 run\.shell\.command\.1: steps\[1\]/)],
    ],
    [
      "a secret that cannot sign",
      `id: a\non: message_received\nrun: { http: { url: "https://example.org", secret_env: [KNOWN_SECRET, WRONG_KEY] } }`,
      [expect.stringMatching(/environment variable WRONG_KEY signs nothing: what follows whsec_ is no base64/)],
    ],
    [
      "a missing secret",
      `id: a\non: message_received\nrun: { http: { url: "https://example.org", secret_env: LOST } }`,
      [expect.stringMatching(/environment variable LOST is missing/)],
    ],
    [
      "blocking where nothing can be vetoed",
      `id: a\non: message_received\nexecution: blocking\n${RUN}`,
      ["4 execution: nothing can be vetoed at message_received: expected deadline, fire_and_record or background"],
    ],
    [
      "blocking after the fact",
      `id: a\non: task:fail\nphase: after\nexecution: blocking\n${RUN}`,
      [expect.stringMatching(/^5 execution: nothing can be vetoed at task:fail \(after\)/)],
    ],
    [
      "a lifecycle point without its phase",
      `id: a\non: task:fail\n${RUN}`,
      ["3 on: task:fail has two phases: set `phase: before` or `phase: after`"],
    ],
    [
      "a phase where there is none",
      `id: a\non: message_received\nphase: after\n${RUN}`,
      ["4 phase: message_received is a void point and has no phases"],
    ],
    [
      "two triggers",
      `id: a\non: message_received\ntrigger: { every: 5m }\n${RUN}`,
      ["4 trigger: on and trigger cannot be used together: one of them starts the hook"],
    ],
    ["no trigger", `id: a\n${RUN}`, ["2 : nothing starts it: expected `on:` with a hook point, or `trigger:`"]],
    [
      "a retry that nobody could wait for",
      `id: a\non: message_sending\nretry: { attempts: 3 }\n${RUN}`,
      ["4 retry: only background hooks are retried, and this one is blocking"],
    ],
    [
      "a failure that cannot close anything",
      `id: a\non: message_sent\non_failure: closed\n${RUN}`,
      ["4 on_failure: no event waits for a hook that is background, so on_failure can only be open"],
    ],
    [
      "a failure where nothing can be stopped",
      `id: a\non: message_sent\nexecution: deadline\non_failure: closed\n${RUN}`,
      ["5 on_failure: a failure at message_sent stops nothing, so on_failure can only be open"],
    ],
    [
      "a fallback that is not there",
      `id: a\non: message_sending\non_failure: fallback\n${RUN}`,
      [expect.stringMatching(/fallback: on_failure: fallback and `fallback:` belong together/)],
    ],
    [
      "an unknown setting",
      `id: a\non: message_received\ncooldwn: 5m\n${RUN}`,
      ['4 cooldwn: unknown setting "cooldwn" (did you mean "cooldown"?)'],
    ],
    [
      "an unknown setting inside another, with no name near it",
      `id: a\non: message_received\nmatch: { text: hello }\n${RUN}`,
      [
        '4 match.text: unknown setting "text" (there is tools, agents, crews, severities, platforms, chats, users, hooks, watches, when, access)',
      ],
    ],
    [
      "an unknown setting of a trigger",
      `id: a\ntrigger: { cron: "0 * * * *", catchup: one }\n${RUN}`,
      ['3 trigger.catchup: unknown setting "catchup" (did you mean "catch_up"?)'],
    ],
    [
      "a person by name and a chat with a space",
      `id: a\non: message_received\nmatch: { users: ["@bob"], chats: ["general "] }\n${RUN}`,
      [
        "4 match.chats.0: it has a space before or after it, and would never match",
        "4 match.users.0: people are matched by their id, which /whoami shows them",
      ],
    ],
    [
      "a template with single braces",
      "id: a\non: message_received\nrun: { chat: { text: 'You said {event.message.text}' } }\n",
      [
        '4 run.chat.text: people would read "{event.message.text}" as it is written: templates have two braces, "{{event.message.text}}"',
      ],
    ],
    [
      "a template between the quotes of a JSON body",
      `id: a\non: message_received\nrun:\n  http:\n    url: https://x.example\n    body: '{"n":1,"text":"Hi {{ event.message.text }}"}'\n`,
      [
        expect.stringMatching(
          /^7 run\.http\.body: a value with a quote in it would end the text around \{\{ event\.message/,
        ),
      ],
    ],
    ...[
      '{% if event.reason %}x{% endif %}{"a":"{{ event.reason }}"}',
      '{"a":"{% echo event.reason %}"}',
      '{"a":"{% cycle event.reason %}"}',
    ].map((body): [string, string, unknown[]] => [
      `a value that a tag prints into JSON: ${body}`,
      `id: a\non: message_received\nrun:\n  http:\n    url: https://x.example\n    body: '${body}'\n`,
      [expect.stringMatching(/^7 run\.http\.body: .*could add fields/)],
    ]),
    [
      "the same in a step, in a list",
      `id: a\non: message_received\ncontext:\n  - http: { url: https://x.example, method: POST, body: '["{{ event.message.text | json }}"]' }\n${RUN}`,
      [expect.stringMatching(/^5 context\.0\.http\.body: a value with a quote in it/)],
    ],
    ...[
      "http://{{ event.input.x }}.example.org/a",
      "http://example.org{{ event.input.x }}",
      "https://{% if event.message %}{% echo event.reason %}{% endif %}:80/",
      "https://a.example{% if event.message %}/{% endif %}{{ event.reason }}",
      "https:///{{ event.reason }}",
      "https://{% comment %}/{% endcomment %}{{ event.reason }}/",
    ].map((url): [string, string, unknown[]] => [
      `a value as the server of ${url}`,
      `id: a\non: message_received\nrun:\n  http: { url: '${url}' }\n`,
      [
        expect.stringMatching(
          /^5 run\.http\.url: a value from the event would decide which server the address leads to/,
        ),
      ],
    ]),
    [
      "a secret for a server that a value decides",
      `id: a\non: message_received\nrun:\n  http: { url: '{{ event.input.x }}', auth: { bearer_env: CI_TOKEN } }\n`,
      [expect.stringMatching(/^5 run\.http\.auth: a value from the event would decide which server gets this secret/)],
    ],
    [
      "files without a path",
      `id: a\ntrigger: { files: {} }\n${RUN}`,
      ["3 trigger.files.paths: it is missing: expected text or a list"],
    ],
    [
      "the point of timed hooks",
      `id: a\non: hook.due\n${RUN}`,
      ["3 on: hook.due is no point for others: use `trigger:`"],
    ],
    [
      "a bad skip_if",
      `id: a\non: message_received\ncontext:\n  - shell:\n      command: [a]\n      skip_if: exit_zeroo\n${RUN}`,
      [expect.stringMatching(/^7 context\.0\.shell\.skip_if: there is no "exit_zeroo"/)],
    ],
  ])("%s is refused, with its line", (_, hook, expected) => {
    expect(problemsOf(hook)).toEqual(expected);
  });

  test.each([
    "{ text: 'Hi {{ event.message.text }}' }",
    `'{"text":{{ event.message.text | json }},"why":"\\"{"}'`,
    `'He wrote "{{ event.message.text }}"'`,
    `'[note] "{{ event.message.text }}"'`,
    `'{{ event.message.text }}'`,
  ])("a body %s is accepted: no value changes what is around it in JSON", (body) => {
    const file = `hooks:\n  - id: a\n    on: message_received\n    run: { http: { url: https://x.example, body: ${body} } }\n`;
    expect(load({ "hookgate.yaml": file }).broken).toEqual([]);
  });

  test("all problems of a hook are told at once", () => {
    const found = problemsOf(`id: a b\non: message_received\ncooldown: soon\nconcurrency: 0\nrun: { shel: {} }`);
    expect(found.map((problem) => problem.split(":")[0])).toEqual([
      "2 id",
      "4 cooldown",
      "5 concurrency",
      "6 run.shel",
    ]);
  });

  test("an entry that is a plain text has one problem, and is not said to lack a handler", () => {
    expect(problemsOf("just a text")).toEqual([expect.not.stringContaining("handler")]);
  });

  test("what is right of a hook is held against what there is, whatever else is wrong with it", () => {
    const found = problemsOf(`id: a
on: mesage_received
cooldown: soon
run: { shell: { command: [a] } }`);
    expect(found).toEqual([
      expect.stringMatching(/^4 cooldown: /),
      expect.stringMatching(/^3 on: there is no hook point "mesage_received"/),
    ]);
    expect(
      problemsOf(`id: a
on: message_received
execution: blocking
concurrency: 0
match: { when: payload.mesage.text == "x" }
context:
  - shel: { command: [a] }
  - shell: { command: [b, "{{ event.mesage }}", "{{ steps[0].anything }}"] }
run: { shell: { command: [c, "{{ event.massage }}", "{{ steps[1].stdot }}"] } }`).map((one) => one.split(":")[0]),
    ).toEqual(
      expect.arrayContaining([
        "5 concurrency",
        "8 context.0.shel",
        "4 execution",
        "6 match.when",
        "9 context.1.shell.command.1",
        "10 run.shell.command.1",
      ]),
    );
    // Nothing is made up about what is not known.
    expect(problemsOf(`id: a\ntrigger: { evry: 5m }\nphase: after\n${RUN}`)).toEqual([
      expect.stringMatching(/^3 trigger: /),
    ]);
    expect(problemsOf(`id: a\non: message_sending\non_failure: fallbak\nfallback: {}\n${RUN}`)).toEqual([
      expect.stringMatching(/^4 on_failure: /),
    ]);
  });

  test("one bad hook, one bad file, an id given twice: the others stand", () => {
    const { definitions, broken } = load({
      "hookgate.yaml": `hooks:\n  - { id: good, on: message_received, ${RUN} }\n  - { id: bad, on: nothing, ${RUN} }\n  - just words\n`,
      "hooks/again.yaml": `id: good\non: message_sent\n${RUN}\n`,
      "hooks/torn.yaml": "id: [torn\non: x",
      "hooks/fine.yaml": `id: fine\non: message_sent\n${RUN}\n`,
    });
    expect(definitions.map(({ id, place }) => `${id} ${place.line}`)).toEqual(["good 2", "fine 1"]);
    expect(broken.map(({ id }) => id)).toEqual(["torn.yaml:2", "bad", "hookgate.yaml:4", "again.yaml:1"]);
    expect(broken[3]?.problems[0]?.message).toMatch(/the id "good" is taken by the hook at .*hookgate\.yaml:2/);
  });

  test("a hook may post where its chats are now, whichever id of a chat and whichever account they name", () => {
    const { definitions } = load({
      "hookgate.yaml": `hooks:\n  - { id: old, on: message_received, run: { chat: { to: "telegram::-5", text: hi } } }\n`,
    });
    const current = (at: Address) => ({ ...at, botId: "1", chatId: at.chatId === "-5" ? "-1005" : at.chatId });
    const mayPostIn = (conversation: string) => definitions[0]?.mayPostIn(conversation, current);
    expect(["telegram:1:-1005", "telegram:1:-1005:7", "telegram:1:-100"].map(mayPostIn)).toEqual([true, true, false]);
  });
});
