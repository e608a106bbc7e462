/** The hook name decides the types. `tsc` reads the `@ts-expect-error` lines: each must be an error. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { definePoint, HookRegistry, type PluginApi } from "../../src/index.js";

const points = [
  definePoint({
    name: "greeted",
    model: "void",
    payload: z.object({ name: z.string() }),
    summary: "Somebody was greeted.",
    example: { name: "Ada" },
  }),
  definePoint({
    name: "greeting",
    model: "modifying",
    payload: z.object({ name: z.string() }),
    result: z.object({ text: z.string().optional(), cancel: z.boolean().optional() }),
    summary: "A greeting is about to be sent.",
    example: { name: "Ada" },
  }),
  definePoint({
    name: "task:create",
    model: "lifecycle",
    payload: z.object({ title: z.string(), maxDuration: z.number().optional() }),
    summary: "A task is about to be created.",
    example: { title: "deploy" },
  }),
] as const;

/** Fields that a result does not have, in every kind of callback. A plugin's `api.hooks` takes the same. */
function resultsOf(hooks: HookRegistry | PluginApi["hooks"]) {
  hooks.registerClaiming("inbound_claim", async ({ message }) => {
    if (message.text === "") return null;
    if (message.text === "later") return { handled: true, deferMs: 1_000 };
    const button = { label: "Open", url: "https://example.org", style: "primary" } as const;
    return { handled: true, reply: { text: "hi", card: { title: "Build", tone: "good" }, buttons: [[button]] } };
  });
  hooks.registerModifying("message_sending", async ({ message }) => {
    if (message.text === "") return { cancel: "it is empty" };
    return { message: { text: message.text.trim(), card: null } };
  });
  hooks.registerClaiming("plugin:shop:order", async () => ({ handled: true, anything: 1 }));
  hooks.register({ hook: "inbound_claim", handler: async ({ message }) => ({ handled: message.text === "hi" }) });
  // @ts-expect-error a claim has no such field, from an async function
  hooks.registerClaiming("inbound_claim", async () => ({ handled: true, replly: "hello" }));
  // @ts-expect-error nor from one that is not
  hooks.registerClaiming("inbound_claim", () => ({ handled: true, replly: "hello" }));
  // @ts-expect-error on one of its paths
  hooks.registerClaiming("inbound_claim", ({ message }) => {
    if (message.isDm) return null;
    return { handled: true, claimd: true };
  });
  // @ts-expect-error a message has no such field
  hooks.registerClaiming("inbound_claim", async () => ({ handled: true, reply: { text: "hi", cards: [] } }));
  // @ts-expect-error this point takes no reply
  hooks.registerClaiming("before_dispatch", async () => ({ handled: true, reply: "hello" }));
  // @ts-expect-error a field of the wrong type
  hooks.registerClaiming("inbound_claim", async () => ({ handled: "yes" }));
  // @ts-expect-error beside a field that there is
  hooks.registerModifying("message_sending", async () => ({ cancel: true, requird: "yes" }));
  // @ts-expect-error in a part of a field
  hooks.registerModifying("message_sending", async () => ({ message: { text: "", txt: "" } }));
  // @ts-expect-error a null that takes away nothing
  hooks.registerModifying("message_sending", () => ({ message: null }));
  // @ts-expect-error nor is it a decision
  hooks.registerModifying("message_sending", async () => ({ cancel: null }));
  // @ts-expect-error through the call for any model
  hooks.register({ hook: "inbound_claim", handler: async () => ({ handled: true, replly: "hello" }) });
  hooks.register({
    hook: "task:create",
    phase: "before",
    handler({ data }) {
      data.expectations = [{ file: "dist/app.js" }];
      // @ts-expect-error an expectation of no kind
      data.expectations = [{ fil: "dist/app.js" }];
    },
  });
  // @ts-expect-error a lifecycle handler returns nothing
  hooks.register({ hook: "task:create", phase: "before", handler: async () => ({ cancel: true }) });
}

/** Options that do not fit the point, and fields that a registration does not have. */
function optionsOf(hooks: HookRegistry | PluginApi["hooks"]) {
  for (const hook of ["task:complete", "task:fail"] as const)
    hooks.register({ hook, phase: "before", handler: (ctx) => void (ctx.data.taskId satisfies string) });
  hooks.register({ hook: "plugin:shop:order", handler: () => {} });
  hooks.registerModifying("message_sending", () => null, { failurePolicy: "fallback", fallback: { cancel: "down" } });
  hooks.registerVoid("message_sent", () => {}, { execution: "background", retry: { attempts: 2, idempotent: true } });
  // @ts-expect-error a misspelt option
  hooks.register({ hook: "message_sent", prioritty: 3, handler: () => {} });
  // @ts-expect-error a void point has no phases
  hooks.register({ hook: "message_sent", phase: "after", handler: () => {} });
  // @ts-expect-error a lifecycle point has, and this name implies none
  hooks.register({ hook: "task:create", handler: () => {} });
  // @ts-expect-error a fallback is a result
  hooks.registerClaiming("inbound_claim", () => null, { failurePolicy: "fallback", fallback: { handled: "yes" } });
  // @ts-expect-error nothing waits for a background hook
  hooks.registerClaiming("inbound_claim", () => null, { execution: "background" });
  // @ts-expect-error through the call for any model, too
  hooks.register({ hook: "inbound_claim", execution: "background", handler: () => null });
  // @ts-expect-error nor for one in `before`
  hooks.register({ hook: "task:spawn", phase: "before", execution: "background", handler: () => {} });
  hooks.register({ hook: "task:spawn", phase: "after", execution: "background", handler: () => {} });
  // @ts-expect-error a fallback that changes nothing
  hooks.registerModifying("message_sending", () => null, { failurePolicy: "fallback", fallback: { message: null } });
  const silent = { handled: false, reply: "hi" } as const;
  // @ts-expect-error a reply beside handled: false, as for a claim
  hooks.registerClaiming("inbound_claim", () => null, { failurePolicy: "fallback", fallback: silent });
  // @ts-expect-error a policy of turn points
  hooks.registerClaiming("inbound_claim", () => null, { failurePolicy: "required" });
  // @ts-expect-error only turn handlers have a budget
  hooks.registerVoid("message_sent", () => {}, { budget: { entries: 1 } });
}

/** Answers of a plugin's default route and of its commands. */
function answersOf({ commands, route }: PluginApi) {
  const roll = { name: "roll", summary: "Roll a die", role: "viewer" } as const;
  route(async ({ text }) => ({ reply: { text } }));
  route(() => undefined);
  commands.register({ ...roll, run: ({ options }) => `${options.sides}` });
  commands.register({ ...roll, run: async () => ({ message: "You rolled a 4.", data: { sides: 6 } }) });
  commands.register({ ...roll, run: () => ({ text: "You rolled a 4.", card: { title: "4" } }) });
  commands.register({
    ...roll,
    run({ progress }) {
      progress("It rolls.");
      progress({ text: "It still rolls." });
      // @ts-expect-error progress is a text or a message
      progress(4);
      return "";
    },
  });
  // @ts-expect-error an answer has no such field
  route(() => ({ replly: "hi" }));
  // @ts-expect-error nor has its message
  route(async () => ({ reply: { text: "hi", cards: [] } }));
  // @ts-expect-error an answer of a command has no such field
  commands.register({ ...roll, run: () => ({ message: "You rolled a 4.", dta: 4 }) });
  // @ts-expect-error a misspelt key
  commands.register({ ...roll, summry: "s", run: () => "" });
}

/** Compiled, never called. */
async function compiles() {
  const hooks = new HookRegistry();
  hooks.registerVoid("message_received", (payload) => payload.message.text.length);
  hooks.registerVoid("message_received", async ({ message }, context) =>
    context.logger.info({ text: message.text, hook: context.hook }),
  );
  // @ts-expect-error no such point
  hooks.registerVoid("message_recieved", () => {});
  // @ts-expect-error a claiming point
  hooks.registerVoid("inbound_claim", () => {});
  // @ts-expect-error no such payload field
  hooks.registerVoid("message_received", (payload) => payload.mesage);
  hooks.registerModifying("message_sending", ({ message }) => ({ message: { ...message, text: message.text.trim() } }));
  hooks.registerModifying("message_sending", () => null);
  hooks.registerModifying("message_sending", async () => {});
  // @ts-expect-error a result field of the wrong type
  hooks.registerModifying("message_sending", () => ({ message: 5 }));
  // @ts-expect-error a result field that does not exist
  hooks.registerModifying("message_sending", () => ({ mesage: { text: "" } }));
  hooks.registerClaiming("inbound_claim", ({ message }) =>
    message.text === "hi" ? { handled: true, reply: "hello" } : { handled: false, reason: "not for this hook" },
  );
  // @ts-expect-error a reply beside handled: false
  hooks.registerClaiming("inbound_claim", ({ message }) => ({ handled: message.text === "hi", reply: "hello" }));
  // @ts-expect-error handled must be there
  hooks.registerClaiming("inbound_claim", () => ({ reply: "hello" }));
  resultsOf(hooks);
  optionsOf(hooks);
  answersOf({} as PluginApi);
  // @ts-expect-error a payload without its fields
  await hooks.fireVoid("message_received", { access: "allowed" });
  const claimed = await hooks.fireClaiming("inbound_claim", { message: {} as never, isAnswer: false });
  claimed.claimedBy satisfies string | undefined;
  claimed.deferMs satisfies number | undefined;

  const own = new HookRegistry({ points });
  own.register({
    hook: "task:create",
    phase: "before",
    priority: 50,
    name: "validate",
    handler(ctx) {
      if (ctx.data.title.length < 5) ctx.cancel("too short");
      ctx.data.maxDuration = 5;
    },
  });
  own.register({ hook: "task.created", handler: (ctx) => void ctx.data.title });
  own.register({ hook: "greeting", handler: ({ name }) => ({ text: name }) });
  own.register({ hook: "greeted", handler: ({ name }) => name });
  // @ts-expect-error data has no such field
  own.register({ hook: "task:create", phase: "before", handler: (ctx) => void ctx.data.titel });
  // @ts-expect-error not among these points
  own.registerVoid("message_received", () => {});
  // @ts-expect-error an alias of a point that is not here
  own.registerModifying("pre_tool_call", () => null);
  const before = await own.runBefore("task:create", { title: "x" });
  before.data.title satisfies string;
  // @ts-expect-error a wrong payload
  await own.runBefore("task:create", { titel: "x" });
  const merged = await own.fireModifying("greeting", { name: "Ada" });
  merged.text satisfies string | undefined;

  const wider = own.declare(
    definePoint({
      name: "plugin:p:thing",
      model: "void",
      payload: z.object({ n: z.number() }),
      summary: "A thing.",
      example: { n: 1 },
    }),
  );
  wider.registerVoid("plugin:p:thing", ({ n }) => n + 1);
  // @ts-expect-error a wrong payload of a declared point
  await wider.fireVoid("plugin:p:thing", { n: "1" });
  hooks.registerVoid("plugin:p:thing", (payload) => payload satisfies unknown);
}

describe("types", () => {
  it("are checked by the compiler", () => {
    expect(typeof compiles).toBe("function");
  });
});
