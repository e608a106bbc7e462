/** Reports come with pictures, on every chat, through its real client. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { invoke, type Stack, startStack } from "./stack.js";

const PLAN = {
  title: "Night release",
  groups: [
    {
      name: "all",
      tasks: [
        { id: "build", assignTo: "sh" },
        { id: "flaky", assignTo: "flaky", dependsOn: ["build"], retryPolicy: { maxRetries: 2 } },
      ],
    },
  ],
};

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    config: {
      sla: { policies: [{ id: "first", for: "conversation", measure: "first_response", target: "1h" }] },
      orchestrator: {
        runners: {
          sh: { shell: { sh: "exit 0" } },
          flaky: { shell: { sh: "test -e tried || { touch tried; exit 1; }" } },
        },
      },
    },
  });
  mkdirSync(join(stack.gateway.folder, "missions"), { recursive: true });
  writeFileSync(join(stack.gateway.folder, "missions/night.yaml"), JSON.stringify(PLAN));
  // A customer is answered in time, so that there is something to report.
  const { web } = stack.platforms;
  await web.say(web.places[0], "stranger", "is anybody there?");
  await web.say(web.places[0], "owner", "yes: what is it?");
  await until(async () => {
    const { data } = await invoke(stack.gateway.url, "/sla report");
    return (data as { policies: { met: number }[] }).policies[0]?.met === 1;
  }, "the answer being counted");
  // Another still waits, so that something is open.
  await web.say(web.places[1], "guest", "and me?");
  await until(async () => {
    const { data } = await invoke(stack.gateway.url, "/sla list");
    return (data as { total: number }).total === 1;
  }, "the question being watched");
  await until(async () => (await invoke(stack.gateway.url, "/mission run night")).outcome === "done", "the plan");
  await until(async () => {
    const { data } = await invoke(stack.gateway.url, "/mission report night");
    return (data as { status: string }).status === "done";
  }, "the mission's end");
});
afterAll(() => stack.stop());

/** Names of the pictures that a platform was given, with their bytes' number where it tells. */
const GIVEN: Record<"web" | "discord" | "telegram", () => Promise<string[]>> = {
  async web() {
    const { chatId } = stack.platforms.web.places[1];
    const answer = await fetch(`${stack.gateway.url}/api/rooms/${chatId}/messages?limit=50`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const { messages } = (await answer.json()) as { messages: { attachments?: { filename: string; url: string }[] }[] };
    const files = messages.flatMap(({ attachments = [] }) => attachments);
    // What the page shows: each can be fetched, and is a picture.
    for (const { url } of files) {
      const picture = await fetch(new URL(url, stack.gateway.url), { headers: { authorization: `Bearer ${TOKEN}` } });
      expect(
        Buffer.from(await picture.arrayBuffer())
          .subarray(1, 4)
          .toString(),
        url.slice(0, 60),
      ).toBe("PNG");
    }
    return files.map(({ filename }) => filename);
  },
  discord: async () =>
    [...stack.discord.world.channels.values()]
      .flatMap(({ messages }) => [...messages.values()])
      .flatMap(({ attachments }) => attachments.map(({ filename }) => filename)),
  telegram: async () =>
    stack.telegram.calls
      .filter(({ method }) => method === "sendPhoto")
      .flatMap(({ files }) => files.map((f) => f.name)),
};

describe.each(["web", "discord", "telegram"] as const)("on %s", (name) => {
  it("/sla report shows how well targets were met, how long things took and how old is what is open", async () => {
    const platform = stack.platforms[name];
    await platform.command(platform.places[1], "owner", "/sla report");
    await until(async () => {
      const given = await GIVEN[name]();
      return ["sla-attainment.png", "sla-times.png", "sla-open.png"].every((file) => given.includes(file));
    }, "the pictures");
  });

  it("/mission report shows the mission's course", async () => {
    const platform = stack.platforms[name];
    await platform.command(platform.places[1], "owner", "/mission report night");
    await until(async () => (await GIVEN[name]()).some((file) => /^mission-.*\.png$/.test(file)), "the picture");
  });
});
