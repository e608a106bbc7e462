/** Discord end to end where it refuses, limits or loses a request: the whole gateway as a process on the loopback Discord. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { FaultAction } from "../fakes/discord/faults.js";
import { until } from "../support/until.js";
import { type Stack, startStack } from "./stack.js";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());
afterEach(() => stack.discord.faults.clear());

describe("an acknowledgement that fails once", () => {
  it.each<[string, FaultAction]>([
    ["with HTTP 500", { kind: "status", status: 500 }],
    ["with a proxy's page", { kind: "page", status: 503 }],
    ["with a short limit", { kind: "rate-limit", retryAfterS: 0.5, scope: "user" }],
  ])("%s still gets its answer in its own place", async (_, action) => {
    const { discord } = stack;
    discord.fail({ path: "/callback$", action });
    const before = discord.calls.length;
    const interaction = discord.people.slash("status");
    const edits = () => discord.calls.slice(before).filter(({ kind }) => kind === "original-edit");
    await until(() => edits().some(({ status }) => status === 200), "an answer in place of the acknowledgement");
    expect(interaction.originalId).toBeDefined();
    expect(edits()).toHaveLength(1);
    const calls = discord.calls.slice(before);
    expect(calls.some(({ path }) => path === "/users/@me/channels")).toBe(false);
  });
});
