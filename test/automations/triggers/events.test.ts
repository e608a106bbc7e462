/** Events that came in by HTTP, from the ingest store to their hook points. */
import { afterEach, describe, expect, it } from "vitest";
import { eventPoint } from "../../../src/automations/triggers/event-point.js";
import { createIngested, declareEvents, workOf } from "../../../src/automations/triggers/ingested.js";
import { INGESTED_EVENT } from "../../../src/domain/pending.js";
import type { Store } from "../../../src/domain/store.js";
import { HookRegistry } from "../../../src/hooks/registry.js";
import { silentLogger } from "../../../src/lib/logger.js";
import { systemClock } from "../../../src/lib/time/clock.js";
import { Pending } from "../../../src/pending/pending.js";
import { openTestStore } from "../../store/support/open-test-store.js";
import { until } from "../../support/until.js";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Stores it as the HTTP server does; `ingested`: and says so. */
async function accept(
  store: Store,
  [id, name, payload]: readonly [string, string, unknown],
  ingested?: ReturnType<typeof createIngested>,
): Promise<string> {
  const event = { id, name, payload, receivedAt: Number(id) };
  const work = workOf(event);
  const outcome = await store.automation.ingest.accept(event, [work]);
  if (outcome === "new") ingested?.added(work);
  return outcome;
}

const unhandled = async (store: Store) => (await store.pending.list([INGESTED_EVENT])).map(({ key }) => key);

async function parts() {
  const store = await openTestStore();
  const registry = new HookRegistry({ logger: silentLogger });
  const typed = registry.declare(eventPoint("deploy", {}));
  declareEvents(registry, { deploy: {}, build: {} });
  const process = () =>
    createIngested({
      store: store.automation.ingest,
      registry,
      runs: store.automation.runs,
      pending: new Pending({ store: store.pending, clock: systemClock, logger: silentLogger }),
      logger: silentLogger,
    });
  const ingested = process();
  closers.push(() => ingested.stop());
  return { store, registry, typed, ingested, process };
}

describe("an ingested event", () => {
  it("fires its point with its body, in order, and is handled once", async () => {
    const { store, typed, ingested } = await parts();
    const seen: unknown[] = [];
    typed.registerVoid("event:deploy", async (body, { dispatchId, attempt }) => {
      seen.push([body, dispatchId, attempt]);
    });
    await accept(store, ["1", "deploy", { branch: "main" }], ingested);
    await ingested.resume();
    await accept(store, ["2", "deploy", { branch: "next" }], ingested);
    await ingested.resume();
    await until(async () => (await unhandled(store)).length === 0, "both handled");
    expect(seen).toEqual([
      [{ branch: "main" }, "d_event_1", 1],
      [{ branch: "next" }, "d_event_2", 1],
    ]);
    expect(await accept(store, ["1", "deploy", { branch: "main" }])).toBe("repeated");
    expect(await unhandled(store)).toEqual([]);
  });

  it("that came before the start is handled after what an earlier process left", async () => {
    const { store, typed, ingested } = await parts();
    const seen: string[] = [];
    typed.registerVoid("event:deploy", (_, { dispatchId, attempt }) => void seen.push(`${dispatchId} ${attempt}`));
    await accept(store, ["1", "deploy", {}]);
    await accept(store, ["2", "deploy", {}], ingested);
    await ingested.resume();
    await until(async () => (await unhandled(store)).length === 0, "both handled");
    expect(seen).toEqual(["d_event_1 2", "d_event_2 1"]);
  });

  it("that ended the process five times is given up, and holds up none behind it", async () => {
    const { store, typed, ingested } = await parts();
    const ids: string[] = [];
    typed.registerVoid("event:deploy", (_, { dispatchId }) => void ids.push(dispatchId));
    await accept(store, ["1", "deploy", {}]);
    for (let start = 2; start <= 5; start++) await store.pending.started("d_event_1");
    await accept(store, ["2", "deploy", {}]);
    await ingested.resume();
    await until(async () => (await unhandled(store)).length === 0, "both handled");
    expect(ids).toEqual(["d_event_2"]);
  });

  it("is handled again under the same dispatch id when the process died on the way", async () => {
    const { store, typed, ingested, process } = await parts();
    const ids: string[] = [];
    // The process that dies: its handler never comes back.
    const hanging = typed.registerVoid("event:deploy", (_, { dispatchId, attempt }) => {
      ids.push(`${dispatchId} ${attempt}`);
      return new Promise(() => {});
    });
    await ingested.resume();
    await accept(store, ["1", "deploy", {}], ingested);
    await until(() => ids.length === 1, "the first try");
    hanging();
    typed.registerVoid("event:deploy", (_, { dispatchId, attempt }) => void ids.push(`${dispatchId} ${attempt}`));
    const after = process();
    await after.resume();
    await until(async () => (await unhandled(store)).length === 0, "handled after the restart");
    expect(ids).toEqual(["d_event_1 1", "d_event_1 2"]);
    closers.splice(0); // the one that hangs is not waited for
    await after.stop();
  });

  it("does not wait for events of another name; a stop starts no more", async () => {
    const { store, typed, ingested } = await parts();
    let release = () => {};
    const ids: string[] = [];
    typed.registerVoid("event:deploy", (_, { dispatchId }) => {
      ids.push(dispatchId);
      return new Promise<void>((done) => {
        release = done;
      });
    });
    await ingested.resume();
    await accept(store, ["1", "deploy", {}], ingested);
    await accept(store, ["2", "build", {}], ingested);
    await accept(store, ["3", "deploy", {}], ingested);
    await until(async () => (await unhandled(store)).every((name) => name === "deploy"), "the build handled");
    const stopped = ingested.stop();
    release();
    await stopped;
    expect([ids, await unhandled(store)]).toEqual([["d_event_1"], ["deploy"]]);
  });

  it("has ended when a fail-closed hook fails, and when it is declared no more", async () => {
    const { store, typed, ingested } = await parts();
    typed.registerVoid(
      "event:deploy",
      () => {
        throw new Error("no");
      },
      { failurePolicy: "fail-closed" },
    );
    await accept(store, ["1", "deploy", {}]);
    await accept(store, ["2", "forgotten", {}]);
    await ingested.resume();
    await until(async () => (await unhandled(store)).length === 0, "both handled");
  });
});

describe("the point of an event", () => {
  const schema = {
    type: "object" as const,
    properties: {
      branch: { type: "string" as const, examples: ["main"] },
      attempt: { type: "integer" as const, minimum: 1 },
      state: { enum: ["ok", "failed"] },
      tags: { type: "array" as const, items: { type: "string" as const } },
    },
    required: ["branch"],
    additionalProperties: false as const,
  };

  it("knows the fields of its JSON schema and has an example of it", () => {
    const point = eventPoint("deploy.done", { description: "A deploy ended.", schema });
    expect(point).toMatchObject({
      name: "event:deploy.done",
      model: "void",
      summary: "A deploy ended.",
      vetoable: false,
    });
    expect(point.example).toEqual({ branch: "main", attempt: 1, state: "ok", tags: [] });
    expect(point.payload.safeParse({ branch: 1 }).success).toBe(false);
  });

  it("refuses a condition on a field that the schema lacks", () => {
    const registry = new HookRegistry({ logger: silentLogger });
    const typed = registry.declare(eventPoint("deploy", { schema }));
    const match = (when: string) => () => typed.registerVoid("event:deploy", () => {}, { match: { when } });
    expect(match('payload.branch == "main"')).not.toThrow();
    expect(match('payload.brunch == "main"')).toThrow(/brunch/);
  });

  it("takes any body when there is no schema, or one that may be of no object or refers to itself", () => {
    const nested = { type: "array" as const, items: { $ref: "#" } };
    for (const schema of [undefined, nested, { type: ["object" as const, "null" as const] }]) {
      const point = eventPoint("a", { schema });
      expect(point.example).toEqual({});
      expect(point.payload.safeParse({ anything: [1] }).success).toBe(true);
    }
  });

  it("has one field, value, when its schema is of no object", () => {
    const words = {
      type: "array" as const,
      items: { $ref: "#/$defs/word" },
      $defs: { word: { type: "string" as const } },
    };
    const point = eventPoint("a", { schema: { oneOf: [words, { type: "null" }], $defs: words.$defs } });
    expect(point.payload.safeParse({ value: ["a"] }).success).toBe(true);
    for (const wrong of [["a"], { value: [1] }, { value: ["a"], b: 1 }, {}])
      expect(point.payload.safeParse(wrong).success).toBe(false);
  });

  it("keeps the fields of its schema when no example of it can be made", () => {
    const at = { type: "string" as const, pattern: "^\\d+$" };
    const point = eventPoint("a", { schema: { type: "object", properties: { at }, required: ["at"] } });
    expect(point.payload.safeParse({ at: "12" }).success).toBe(true);
    expect(point.payload.safeParse({}).success).toBe(false);
  });

  it("leaves other fields open where one part of its schema does", () => {
    const open = { type: "object" as const, properties: { text: { type: "string" as const } } };
    const properties = { note: { allOf: [open, open] }, kind: { oneOf: [{ type: "string" as const }, open] } };
    const registry = new HookRegistry({ logger: silentLogger });
    const typed = registry.declare(
      eventPoint("deploy", { schema: { type: "object", properties, additionalProperties: false } }),
    );
    const match = (when: string) => () => typed.registerVoid("event:deploy", () => {}, { match: { when } });
    expect(match('payload.note.author == "jo"')).not.toThrow();
    expect(match('payload.kind.author == "jo"')).not.toThrow();
    expect(match('payload.nope.author == "jo"')).toThrow(/nope/);
  });

  it("leaves names open that a pattern allows, and reads fields that need no schema", () => {
    const schema = {
      properties: { any: true, text: { type: "string" as const } },
      additionalProperties: false as const,
    };
    const of = (spec: Parameters<typeof eventPoint>[1]) => {
      const typed = new HookRegistry({ logger: silentLogger }).declare(eventPoint("deploy", spec));
      return (when: string) => () => typed.registerVoid("event:deploy", () => {}, { match: { when } });
    };
    expect(of({ schema })("payload.any.author == 'jo'")).not.toThrow();
    expect(of({ schema })("payload.x_author == 'jo'")).toThrow(/x_author/);
    const patternProperties = { "^x_": { type: "string" as const } };
    expect(of({ schema: { ...schema, patternProperties } })("payload.x_author == 'jo'")).not.toThrow();
  });

  it("has an example that its schema takes, for the common formats and ranges", () => {
    const format = (name: string) => ({ type: "string" as const, format: name });
    const properties = {
      at: format("date-time"),
      day: format("date"),
      mail: format("email"),
      link: format("uri"),
      id: format("uuid"),
      host: format("ipv4"),
      tags: { type: "array" as const, minItems: 1, items: format("email") },
      step: { type: "number" as const, exclusiveMinimum: 7, multipleOf: 5 },
      either: { oneOf: [{ type: "integer" as const }, { type: "string" as const }] },
      all: { allOf: [{ type: "string" as const }, { type: "string" as const, minLength: 1 }] },
      ref: { $ref: "#/$defs/one" },
    };
    const $defs = { one: { type: "object" as const, properties: { at: format("date") }, required: ["at"] } };
    const point = eventPoint("a", { schema: { type: "object", $defs, properties, required: Object.keys(properties) } });
    expect(point.payload.safeParse(point.example).error).toBeUndefined();
  });
});
