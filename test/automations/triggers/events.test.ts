/** Events that came in by HTTP, from the ingest store to their hook points. */
import { afterEach, describe, expect, it } from "vitest";
import { eventPoint } from "../../../src/automations/triggers/event-point.js";
import { createIngested, declareEvents } from "../../../src/automations/triggers/ingested.js";
import { createStartedDispatches } from "../../../src/automations/triggers/started-dispatches.js";
import type { IngestStore } from "../../../src/domain/automation.js";
import { HookRegistry } from "../../../src/hooks/registry.js";
import { systemClock } from "../../../src/lib/clock.js";
import { silentLogger } from "../../../src/lib/logger.js";
import { openTestStore } from "../../store/support/open-test-store.js";
import { until } from "../../support/until.js";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const accept = (store: IngestStore, id: string, name: string, payload: unknown, receivedAt = Number(id)) =>
  store.accept({ id, name, payload, receivedAt });

async function parts() {
  const whole = await openTestStore();
  const { keyValue } = whole;
  const store = whole.automation.ingest;
  const registry = new HookRegistry({ logger: silentLogger });
  const typed = registry.declare(eventPoint("deploy", {}));
  declareEvents(registry, { deploy: {}, build: {} });
  const process = () =>
    createIngested({
      store,
      registry,
      runs: whole.automation.runs,
      started: createStartedDispatches({ keyValue, registry, logger: silentLogger }),
      clock: systemClock,
      logger: silentLogger,
    });
  const ingested = process();
  closers.push(() => ingested.stop());
  return { store, keyValue, registry, typed, ingested, process };
}

describe("an ingested event", () => {
  it("fires its point with its body, in order, and is handled once", async () => {
    const { store, typed, ingested } = await parts();
    const seen: unknown[] = [];
    typed.registerVoid("event:deploy", async (body, { dispatchId }) => {
      seen.push([body, dispatchId]);
    });
    await accept(store, "2", "deploy", { branch: "next" });
    await accept(store, "1", "deploy", { branch: "main" });
    ingested.look();
    ingested.look();
    await until(async () => (await store.unhandled(10)).length === 0, "both handled");
    expect(seen).toEqual([
      [{ branch: "main" }, "d_event_1"],
      [{ branch: "next" }, "d_event_2"],
    ]);
    expect(await accept(store, "1", "deploy", { branch: "main" })).toBe("repeated");
  });

  it("that ended the process five times is given up, and holds up nobody behind it", async () => {
    const { store, typed, ingested, keyValue } = await parts();
    await keyValue.set("hooks.attempts", "d_event_1", { d_event_1: 5 });
    const ids: string[] = [];
    typed.registerVoid("event:deploy", (_, { dispatchId }) => void ids.push(dispatchId));
    await accept(store, "1", "deploy", {});
    await accept(store, "2", "deploy", {});
    ingested.look();
    await until(async () => (await store.unhandled(10)).length === 0, "both handled");
    expect(ids).toEqual(["d_event_2"]);
    await until(async () => (await keyValue.list("hooks.attempts", "")).length === 0, "the counts forgotten");
  });

  it("is handed over again under the same dispatch id when the process died on the way", async () => {
    const { store, typed, ingested, process } = await parts();
    const ids: string[] = [];
    // The process that dies: its handler never comes back.
    const hanging = typed.registerVoid("event:deploy", (_, { dispatchId, attempt }) => {
      ids.push(`${dispatchId} ${attempt}`);
      return new Promise(() => {});
    });
    await accept(store, "1", "deploy", {});
    ingested.look();
    await until(() => ids.length === 1, "the first try");
    hanging();
    typed.registerVoid("event:deploy", (_, { dispatchId, attempt }) => void ids.push(`${dispatchId} ${attempt}`));
    const after = process();
    after.look();
    await until(async () => (await store.unhandled(10)).length === 0, "handled after the restart");
    expect(ids).toEqual(["d_event_1 1", "d_event_1 2"]);
    closers.splice(0); // the one that hangs is not waited for
    await after.stop();
  });

  it("does not wait for events of another name", async () => {
    const { store, typed, ingested } = await parts();
    let release = () => {};
    typed.registerVoid(
      "event:deploy",
      () =>
        new Promise<void>((done) => {
          release = done;
        }),
    );
    await accept(store, "1", "deploy", {});
    await accept(store, "2", "build", {});
    ingested.look();
    await until(async () => (await store.unhandled(10)).every(({ name }) => name === "deploy"), "the build handled");
    release();
    await until(async () => (await store.unhandled(10)).length === 0, "the deploy handled");
  });

  it("is over when a fail-closed hook fails, and when nobody declares it any more", async () => {
    const { store, typed, ingested } = await parts();
    typed.registerVoid(
      "event:deploy",
      () => {
        throw new Error("no");
      },
      { failurePolicy: "fail-closed" },
    );
    await accept(store, "1", "deploy", {});
    await accept(store, "2", "forgotten", {});
    ingested.look();
    await until(async () => (await store.unhandled(10)).length === 0, "both handled");
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

  it("takes any body when there is no schema, or one of which no example can be made", () => {
    const odd = {
      type: "object" as const,
      properties: { at: { type: "string" as const, pattern: "^\\d+$" } },
      required: ["at"],
    };
    for (const point of [eventPoint("a", {}), eventPoint("a", { schema: odd })]) {
      expect(point.example).toEqual({});
      expect(point.payload.safeParse({ anything: [1] }).success).toBe(true);
    }
  });
});
