/** Killed while a hook is out in the world: what was declared repeatable ends under the id that it had, what was not is never repeated. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { type Endpoint, openEndpoint } from "./endpoint.js";
import { ROOM, startProduct } from "./product.js";

let endpoint: Endpoint;
beforeAll(async () => {
  endpoint = await openEndpoint();
});
afterAll(() => endpoint.close());

const automations = { lease: "2s" };

describe("a kill in the middle of", { timeout: 180_000 }, () => {
  it("HTTP attempts: the run goes on under the same delivery id, and ends once", async () => {
    const product = await startProduct({
      outgoing: { allow: [`127.0.0.1:${endpoint.port}`] },
      automations,
      hooks: [
        {
          id: "deploys",
          trigger: { event: "deploys" },
          run: { http: { url: `${endpoint.url}/deploys`, attempts: 20, backoff: "200ms", max_backoff: "400ms" } },
          retry: { attempts: 5, backoff: "200ms" },
          when_busy: "queue",
        },
      ],
    });
    try {
      endpoint.script({ status: 503 });
      await product.event({ branch: "main" });
      for (let round = 0; round < 3; round++) {
        const before = endpoint.seen.length;
        await until(() => endpoint.seen.length >= before + 2, "two more attempts");
        await product.kill();
        await product.start();
        await product.ready();
      }
      const ids = () => new Set(endpoint.seen.map(({ headers }) => headers["webhook-id"]));
      const bodies = new Set(endpoint.seen.map(({ body }) => body));
      expect(bodies.size).toBe(1);
      const idsBefore = [...ids()];
      expect(idsBefore).toHaveLength(1);
      endpoint.script({ status: 200 });
      const [run] = await product.ended("deploys");
      expect(run).toMatchObject({ id: idsBefore[0], status: "succeeded" });
      expect([...ids()]).toEqual(idsBefore);
      expect(endpoint.seen).toHaveLength(1);
      // After another start there is nothing left to do.
      await product.kill();
      await product.start();
      await product.ready();
      await product.event({ branch: "next" });
      await product.ended("deploys", 2);
      expect(endpoint.seen.filter(({ headers }) => headers["webhook-id"] === run?.id)).toHaveLength(1);
    } finally {
      await product.close();
    }
  });

  it("one request of a hook that may not be repeated: it is marked as interrupted, and nothing is sent again", async () => {
    const product = await startProduct({
      outgoing: { allow: [`127.0.0.1:${endpoint.port}`] },
      automations,
      hooks: [{ id: "pays", trigger: { event: "pays" }, run: { http: { url: `${endpoint.url}/pays`, attempts: 1 } } }],
    });
    try {
      endpoint.script("hang");
      await product.event({ amount: 3 });
      await until(() => endpoint.seen.length === 1, "the request");
      await product.kill();
      await product.start();
      await product.ready();
      expect(await product.ended("pays")).toMatchObject([{ status: "interrupted" }]);
      expect(endpoint.seen).toHaveLength(1);
    } finally {
      await product.close();
    }
  });

  it("an agent at work: what it said is said once, though it works anew", async () => {
    // A model server of OpenAI's format: a message to send, then an answer; the first time, it hangs after the message.
    const model = await openEndpoint();
    let isHanging = true;
    model.script(({ body }, response) => {
      const told = body.includes('"role":"tool"');
      if (told && isHanging) return;
      const call = {
        id: "call_1",
        type: "function",
        function: { name: "send_message", arguments: '{"text":"the build is red"}' },
      };
      const message = told
        ? { role: "assistant", content: "Told them." }
        : { role: "assistant", content: null, tool_calls: [call] };
      const choice = { index: 0, message, finish_reason: told ? "stop" : "tool_calls" };
      const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ id: "x", object: "chat.completion", created: 1, model: "m", choices: [choice], usage }),
      );
    });
    const product = await startProduct({
      automations,
      models: { available: { one: { provider: "openai-compatible", url: `${model.url}/v1`, model: "m" } } },
      hooks: [
        {
          id: "watches",
          trigger: { event: "watches" },
          run: { agent: { prompt: "Tell them.", tools: ["send_message"], send_to: [ROOM] } },
          retry: { attempts: 3, backoff: "200ms" },
        },
      ],
    });
    try {
      await product.event({});
      await until(() => model.seen.length === 2, "the second round");
      await product.kill();
      isHanging = false;
      await product.start();
      await product.ready();
      expect(await product.ended("watches")).toMatchObject([{ status: "succeeded" }]);
      const texts = async () => (await product.messages()).map(({ text }) => text);
      await until(async () => (await texts()).length > 0, "the message");
      expect(await texts()).toEqual(["the build is red"]);
      expect(model.seen).toHaveLength(4);
    } finally {
      await product.close();
      await model.close();
    }
  });

  it("chat messages to many places: each place hears it once", async () => {
    const rooms = Array.from({ length: 12 }, (_, n) => ({ id: `room-${n}`, name: `Room ${n}` }));
    const product = await startProduct({
      automations,
      web: {
        rooms: [{ id: "general", name: "General" }, ...rooms],
        access: { dms: "everyone", chats: ["*"], mention: "always" },
      },
      hooks: [
        {
          id: "tells-all",
          trigger: { event: "tells-all" },
          run: { chat: { to: [ROOM, ...rooms.map(({ id }) => `web:web:${id}`)], text: "news {{ event.n }}" } },
          retry: { attempts: 5, backoff: "200ms" },
          when_busy: "queue",
        },
      ],
    });
    try {
      for (let n = 0; n < 4; n++) {
        await product.event({ n });
        await product.kill();
        await product.start();
        await product.ready();
      }
      await product.ended("tells-all", 4);
      for (const room of ["general", ...rooms.map(({ id }) => id)]) {
        const news = async () => (await product.messages(room)).map(({ text }) => text).sort();
        await until(async () => (await news()).length >= 4, `all news in ${room}`);
        expect(await news()).toEqual(["news 0", "news 1", "news 2", "news 3"]);
      }
    } finally {
      await product.close();
    }
  });
});
