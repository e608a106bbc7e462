/** The hook name decides the types. `tsc` reads the `@ts-expect-error` lines: each must be an error. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { definePoint, HookRegistry } from "../../src/index.js";

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
  hooks.registerClaiming("inbound_claim", ({ message }) => ({ handled: message.text === "hi", reply: "hello" }));
  // @ts-expect-error handled must be there
  hooks.registerClaiming("inbound_claim", () => ({ reply: "hello" }));
  // @ts-expect-error a payload without its fields
  await hooks.fireVoid("message_received", { access: "allowed" });
  const claimed = await hooks.fireClaiming("inbound_claim", { message: {} as never });
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
