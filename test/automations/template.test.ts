import { describe, expect, it } from "vitest";
import { z } from "zod";
import { shellStep } from "../../src/automations/steps/shell.js";
import { compileOptions, formatPath, type TemplateNames, type TemplateScope } from "../../src/automations/template.js";
import { inboundMessage } from "../../src/domain/chat/message.js";
import { type JsonSchema, jsonSchemaOf } from "../../src/lib/validation/json-schema.js";

const event = jsonSchemaOf(
  z.object({
    taskId: z.string(),
    note: z.string().optional(),
    task: z.object({
      title: z.string(),
      score: z.number().nullable(),
      labels: z.array(z.object({ name: z.string() })),
    }),
    anything: z.unknown(),
    byName: z.record(z.string(), z.number()),
    either: z.union([z.object({ left: z.string() }), z.object({ right: z.string() })]),
  }),
);
const shell = { name: "shell", fields: { stdout: "string", exitCode: "number" } } as const;
const query = { name: "db_query", fields: { rows: "array", count: "number" } } as const;
const names: TemplateNames = { event, steps: [shell, query] };
const scope: TemplateScope = {
  event: {
    taskId: "t1",
    task: { title: "Deploy", score: null, labels: [{ name: "red" }, { name: "blue" }] },
    anything: { deep: [1, 2] },
    byName: { ada: 1 },
    either: { left: "L" },
  },
  steps: [
    { value: { stdout: "two commits", exitCode: 0 }, text: "two commits", isEmpty: false, isOk: true },
    { value: { rows: [{ id: 7 }], count: 1 }, text: '[{"id":7}]', isEmpty: false },
  ],
  now: Date.UTC(2026, 10, 21, 9),
  lastRunAt: Date.UTC(2026, 10, 21, 8, 58, 30),
};

function render(template: string, over: Partial<TemplateScope> = {}, known: TemplateNames = names): string {
  const compiled = compileOptions({ text: template }, known);
  expect(compiled.problems).toEqual([]);
  return compiled.render({ ...scope, ...over }).text;
}
const problems = (template: string, known: TemplateNames = names) =>
  compileOptions({ text: template }, known).problems.map(({ message }) => message);

describe("a template in the command line of a button", () => {
  const lineOf = (line: string) => {
    const options = { buttons: [[{ label: "x", action: { kind: "command", line } }]] };
    const compiled = compileOptions(options, names, { buttons: ["buttons"] });
    return { problems: compiled.problems.map(({ message }) => message), render: () => compiled.render(scope) };
  };

  it.each([
    ["/task add me {{ event.either.left }}", '/task add me "L"'],
    [
      "/task add me title={{ event.task.title | append: ' \" id=x' }} due=2h",
      '/task add me title="Deploy \\" id=x" due=2h',
    ],
    ["/task add text='it is' {{ event.taskId }}", "/task add text='it is' \"t1\""],
  ])("%s becomes a quoted value", (line, rendered) => {
    expect(lineOf(line).problems).toEqual([]);
    const action = { kind: "command", line: rendered, isFilledIn: true };
    expect(lineOf(line).render()).toEqual({ buttons: [[{ label: "x", action }]] });
  });

  it.each([
    ['/task add me title="{{ event.taskId }}"', "remove the quotes"],
    ["/task add me 'about {{ event.taskId }} now'", "remove the quotes"],
    ["/task add me 'about {{ event.taskId }}", "remove the quotes"],
    ["/task add me task-{{ event.taskId }}", "one whole option value"],
    ["/task add me {{ event.taskId }}{{ event.taskId }}", "one whole option value"],
    ["/{{ event.taskId }} x", "the command itself is no template"],
    ["{{ event.taskId }}", "the command itself is no template"],
    ['/fire-hook x {"a": {{ event.taskId }} }', "no JSON"],
    ["/task add {% if event.note %}{{ event.note }}{% endif %}", "no tags"],
  ])("%s is refused with the reason", (line, reason) => {
    expect(lineOf(line).problems).toEqual([expect.stringContaining(reason)]);
  });
});

describe("a template prints", () => {
  it.each([
    ["a field of the event", "Task {{ event.taskId }} failed", "Task t1 failed"],
    ["a field deep in it", "{{ event.task.labels[1].name }}", "blue"],
    [
      "an object as JSON, not as [object Object]",
      "{{ event.task }}",
      '{"title":"Deploy","score":null,"labels":[{"name":"red"},{"name":"blue"}]}',
    ],
    ["an object as JSON inside of a filter, too", "{{ event.anything | append: '!' }}", '{"deep":[1,2]}!'],
    ["a list as JSON", "{{ event.anything.deep }}", "[1,2]"],
    ["what may be there and is not, as nothing", "[{{ event.note }}]", "[]"],
    ["null as nothing", "[{{ event.task.score }}]", "[]"],
    ["a step's field", "{{ steps[0].stdout }}", "two commits"],
    ["a step as its text", "{{ steps[0] }} and {{ steps[1] }}", 'two commits and [{"id":7}]'],
    ["rows of a step in a loop", "{% for row in steps[1].rows %}{{ row.id }};{% endfor %}", "7;"],
    ["whether a step is ok", "{% if steps[0].ok %}green{% endif %}", "green"],
    ["the seed's form of a step", "{{step_0}} / {{step_0.stdout}} / {{step_1.count}}", "two commits / two commits / 1"],
    ["the seed's form of the event", "{{event.taskId}}", "t1"],
    [
      "the time, and when it ran before",
      "{{ current_time }} {{ last_run_time }} {{ seconds_since_last_run }}",
      "2026-11-21T09:00:00.000Z 2026-11-21T08:58:30.000Z 90",
    ],
    [
      "the same as fields of the event",
      "{{ event.current_time }} {{event.seconds_since_last_run}}",
      "2026-11-21T09:00:00.000Z 90",
    ],
    ["values as JSON text", "{{ event.task.title | json }}", '"Deploy"'],
    ["nil, empty and blank as nothing", "[{{ nil }}{{ empty }}{{ blank }}{{ null }}]", "[]"],
    ["what stands in quotes", "{{ 'a' | upcase }}", "A"],
  ])("%s", (_, template, expected) => {
    expect(render(template)).toBe(expected);
  });

  it("the whole event as JSON, without fields that are not there", () => {
    expect(JSON.parse(render("{{event}}"))).toEqual(scope.event);
  });

  it("nothing for the time since a run that there never was", () => {
    const { lastRunAt: _, ...never } = scope;
    const compiled = compileOptions("[{{ last_run_time }}{{ seconds_since_last_run }}]", names);
    expect(compiled.render(never)).toBe("[]");
  });

  it("that a step failed, wherever one of its fields is quoted", () => {
    const failed = [
      { error: "no such program", timedOut: false },
      { error: "2000 ms have passed", timedOut: true },
    ];
    expect(render("{{ steps[0].stdout }}|{{ steps[1] }}|{{ step_0.error }}", { steps: failed })).toBe(
      "[step 0 failed: no such program]|[step 1 timed out: 2000 ms have passed]|no such program",
    );
    expect(render("{% if steps[0].ok or steps[0].empty %}fine{% else %}not fine{% endif %}", { steps: failed })).toBe(
      "not fine",
    );
  });
});

describe("a template is refused at load", () => {
  it.each([
    ["an event field that the payload has not", "{{ event.taskID }}", 'event has no "taskID"; did you mean "taskId"?'],
    ["one deep in it", "{{ event.task.labels[0].nam }}", 'event.task.labels[0] has no "nam"; did you mean "name"?'],
    ["a field of what is text", "{{ event.taskId.x }}", 'event.taskId has no fields, so no "x" either'],
    [
      "a step's field that it has not",
      "{{ steps[0].stdot }}",
      'steps[0] (shell) has no "stdot"; did you mean "stdout"?',
    ],
    ["the seed's form of it", "{{step_1.row}}", 'step_1 (db_query) has no "row"; did you mean "rows"?'],
    [
      "a step that comes later, or never",
      "{{ steps[2].stdout }}",
      "steps[2]: the steps before this are steps[0] to steps[1]",
    ],
    ["a name that there is not", "{{ evnt.taskId }}", 'there is no "evnt"; did you mean "event"?'],
    ["a name in a condition", "{% if event.taskIdd %}{% endif %}", 'event has no "taskIdd"; did you mean "taskId"?'],
    [
      "a name in a loop",
      "{% for x in event.task.lables %}{% endfor %}",
      'event.task has no "lables"; did you mean "labels"?',
    ],
    [
      "a filter that there is not",
      "{{ event.taskId | upercase }}",
      expect.stringContaining("undefined filter: upercase"),
    ],
    ["a way to other templates", "{% include 'x' %}", expect.stringContaining('tag "include" not found')],
    ["another", "{% render 'x' %}", expect.stringContaining('tag "render" not found')],
    ["a layout", "{% layout 'x' %}", expect.stringContaining('tag "layout" not found')],
    ["what is not closed", "{{ event.taskId", expect.stringContaining("not closed")],
    ["our own insides", "{{ event.constructor }}", expect.stringContaining('no "constructor"')],
  ])("for %s", (_, template, expected) => {
    expect(problems(template)).toEqual([expected]);
  });

  it("with all its problems at once", () => {
    expect(problems("{{ event.a }} {{ steps[9] }} {{ nobody }}")).toHaveLength(3);
  });

  it("and is not rendered then", () => {
    const compiled = compileOptions({ text: "{{ event.a }}" }, names);
    expect(() => compiled.render(scope)).toThrow(expect.objectContaining({ code: "TEMPLATE_FAILED" }));
  });
});

describe("a condition is accepted", () => {
  const event: JsonSchema = {
    type: "object",
    properties: {
      count: { type: "number" },
      labels: { type: "array", items: { enum: ["red", "green"] } },
      maybe: { type: ["number", "null"] },
      state: { enum: ["open", "closed", null] },
      task: { type: "object", properties: { labels: { type: "array" } }, required: ["labels"] },
      text: { type: "string" },
    },
    required: ["count", "labels", "maybe", "state", "text"],
  };

  it.each([
    ["of a number that may not be there", "{% if event.maybe or last_run_time_epoch %}{% endif %}"],
    ["of a list in what may not be there", "{% if event.task.labels %}{% endif %}"],
    ["of a text of an event", "{% if event.text %}{% endif %}"],
    ["of what a step may lack", "{% if steps[0].signal or steps[0].error and steps[0].ok %}{% endif %}"],
    ["of a size", "{% if steps[1].rows.size > 0 and event.labels.size == 2 %}{% endif %}"],
    [
      "of an empty output, an empty list, and nothing",
      "{% if steps[0].stdout == empty or event.labels == blank or event.count == nil %}{% endif %}",
    ],
    ["of a text with a number in it", "{% if steps[0].stdout > 3 or event.count < '5' %}{% endif %}"],
    ["of words that a field has", "{% if event.state == 'open' and event.labels contains 'red' %}{% endif %}"],
    [
      "of what a filter makes",
      "{% assign n = event.text | size %}{% if n == 5 %}{% endif %}{% case event.count | append: '' %}{% when '5' %}{% endcase %}",
    ],
    ["of a number by a filter", "{% if event.count | minus: 5 %}{% endif %}"],
    [
      "of rows with any fields",
      "{% for row in steps[1].rows %}{% if row.n == '5' or row.list %}{% endif %}{% endfor %}",
    ],
  ])("%s", (_, template) => {
    expect(problems(`${template}{{ event.text }}`, { event, steps: [shellStep, query] })).toEqual([]);
  });
});

describe("names are known", () => {
  it("where the payload has any fields, or one of several forms", () => {
    expect(
      problems("{{ event.anything.x.y }} {{ event.byName.bob }} {{ event.either.left }}{{ event.either.right }}"),
    ).toEqual([]);
    expect(problems("{{ event.either.lefd }}")).toEqual([expect.stringContaining('did you mean "left"')]);
  });

  it("in a real payload", () => {
    const message: TemplateNames = { event: jsonSchemaOf(z.object({ message: inboundMessage })), steps: [] };
    expect(problems("{{ event.message.text }} {{ event.message.attachments[0].url }}", message)).toEqual([]);
    expect(problems("{{ event.message.txt }}", message)).toEqual([expect.stringContaining('did you mean "text"')]);
  });

  it("behind references, also those that come back to themselves", () => {
    const node: JsonSchema = {
      type: "object",
      properties: { name: { type: "string" }, child: { $ref: "#/$defs/node" } },
      additionalProperties: false,
    };
    const tree: JsonSchema = { ...node, $defs: { node } };
    const known: TemplateNames = { event: tree, steps: [] };
    expect(problems("{{ event.child.child.child.name }}", known)).toEqual([]);
    expect(problems("{{ event.child.child.nane }}", known)).toEqual([expect.stringContaining('did you mean "name"')]);
    const value = { name: "a", child: { name: "b" } };
    expect(
      render(
        "{{ event.child.child.name }}{{ event.child.name }}",
        { event: value },
        { ...known, steps: [shell, query] },
      ),
    ).toBe("b");
  });

  it("where nothing is declared about the event", () => {
    expect(problems("{{ event.whatever }}", { steps: [] })).toEqual([]);
  });
});

describe("a rendering", () => {
  it("fills in every string at any depth, and none of the verbatim ones", () => {
    const options = {
      sh: "echo {{ event.taskId }}",
      headers: { "X-Task": "{{ event.taskId }}", n: 3 },
      list: ["{{ steps[0].exitCode }}", true, { deep: "{{ event.taskId }}" }],
      plain: "as it is",
    };
    const compiled = compileOptions(options, names, { verbatim: ["sh"] });
    expect(compiled.render(scope)).toEqual({
      sh: "echo {{ event.taskId }}",
      headers: { "X-Task": "t1", n: 3 },
      list: ["0", true, { deep: "t1" }],
      plain: "as it is",
    });
    expect(options.list[0]).toBe("{{ steps[0].exitCode }}");
  });

  it("says where a problem is", () => {
    const { problems } = compileOptions({ list: ["ok", { "X-A": "{{ nobody }}" }] }, names);
    expect(problems.map(({ path }) => formatPath(path))).toEqual(["list[1].X-A"]);
  });

  it("makes no option of what was none", () => {
    const compiled = compileOptions({ command: ["rm", "{{ event.taskId }}"] }, names, { argumentLists: ["command"] });
    expect(compiled.render(scope).command).toEqual(["rm", "t1"]);
    expect(() => compiled.render({ ...scope, event: { taskId: "-rf" } })).toThrow(/command\[1\]: it starts with "-"/);
  });

  describe("of an event whose fields are not declared", () => {
    const open = (template: string, event: unknown) =>
      compileOptions(template, { steps: [] }).render({ ...scope, event });
    it.each([
      [
        "prints nothing for a field that is absent",
        "[{{ event.maybe }}|{{ event.a.b[0].c }}|{{ event.there }}]",
        "[||x]",
      ],
      ["prints the default of one", '{{ event.maybe | default: "none" }}', "none"],
      ["takes the other branch of a condition", "{% if event.maybe == 'x' %}yes{% else %}no{% endif %}", "no"],
      [
        "prints nothing for an absent field of an item",
        "{% for i in event.list %}[{{ i.n }}{{ i.no }}]{% endfor %}",
        "[1][2]",
      ],
      [
        "prints nothing for an item that is absent",
        "[{{ event.list[7].n }}{{ event.empty.first }}{{ event.empty[0] }}]",
        "[]",
      ],
      [
        "prints items and sizes that are there",
        "{{ event.list.last.n }} {{ event.list.size }} {{ event.size }}",
        "2 2 3",
      ],
      [
        "prints the event without absent fields",
        "{{ event.maybe }}{{ event }}",
        '{"there":"x","list":[{"n":1},{"n":2}],"empty":[]}',
      ],
      [
        "prints the times",
        "{{ event.last_run_time }} {{ event.seconds_since_last_run }}",
        "2026-11-21T08:58:30.000Z 90",
      ],
    ])("%s", (_, template, expected) => {
      expect(open(template, { there: "x", list: [{ n: 1 }, { n: 2 }], empty: [] })).toBe(expected);
    });

    it("prints its own time where the payload carries one", () => {
      expect(open("{{ event.last_run_time }}", { last_run_time: "never" })).toBe("never");
    });
  });

  it("is not shown functions, getters, prototypes or bytes", () => {
    const nasty = Object.assign(Object.create({ inherited: "secret" }), {
      run: () => "called",
      bytes: Buffer.from("abc"),
      date: new Date(0),
      big: 10n,
      list: [1, 2],
      __proto__: "x",
      toString: "own",
    });
    nasty.self = nasty;
    const open: TemplateNames = { steps: [] };
    const one = (template: string) => compileOptions(template, open).render({ ...scope, event: nasty });
    expect(one("{{ event.bytes }} {{ event.date }} {{ event.big }} {{ event.toString }}")).toBe(
      "[3 bytes] 1970-01-01T00:00:00.000Z 10 own",
    );
    for (const field of ["inherited", "run", "constructor", "__proto__", "hasOwnProperty", "self.constructor"])
      expect(one(`{{ event.${field} }}`), field).toBe("");
    for (const field of ["bytes.constructor", "list.constructor", "list.map"])
      expect(() => one(`{{ event.${field} }}`), field).toThrow(/undefined variable/);
    expect(() => one("{{ steps[0].constructor }}")).toThrow();
  });

  it.each([
    ["a long loop", "{% for a in (1..90000) %}{% for b in (1..90000) %}x{% endfor %}{% endfor %}"],
    ["a large range", "{% for a in (1..100000000) %}x{% endfor %}"],
    ["a text that doubles", `{% assign x = "0123456789" %}${"{% assign x = x | append: x %}".repeat(40)}{{ x }}`],
  ])("ends in bounded time for %s", (_, template) => {
    const started = performance.now();
    expect(() => render(`${template}{{ event.taskId }}`)).toThrow(/limit exceeded/);
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it("is bounded in length", () => {
    const event = { taskId: "x".repeat(300_000) };
    expect(() => render("{{ event.taskId }}".repeat(4), { event })).toThrow(/more than 1000000 characters/);
  });

  it("takes data that looks like a template as data", () => {
    expect(render("{{ event.taskId }}", { event: { taskId: "{{ steps[0].stdout }}{% include 'x' %}" } })).toBe(
      "{{ steps[0].stdout }}{% include 'x' %}",
    );
  });
});
