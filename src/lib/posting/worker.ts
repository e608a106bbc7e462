/** The thread that posts. Started by thread.ts. */
import { parentPort } from "node:worker_threads";
import { Pool } from "undici";
import { post } from "./post.js";
import { addResult, type FromThread, type PostResult, type PostTarget, type ToThread } from "./protocol.js";

const CONNECTIONS = 256;

const port = parentPort;
if (!port) throw new Error("posts are made by a worker thread only");
const say = (message: FromThread) => port.postMessage(message);
const targets = new Map<number, { pool: Pool; facts: PostTarget }>();
let results: (FromThread & { kind: "results" })["list"] = [];

/** What comes in one turn goes back together. */
function done(result: PostResult): void {
  if (results.length === 0)
    setImmediate(() => {
      const list = results;
      results = [];
      say({ kind: "results", list });
    });
  addResult(results, result);
}

port.on("message", (message: ToThread) => {
  const known = targets.get(message.target);
  switch (message.kind) {
    case "open": {
      const { facts } = message;
      const connect = { timeout: facts.connectTimeoutMs };
      targets.set(message.target, { pool: new Pool(facts.origin, { connections: CONNECTIONS, connect }), facts });
      break;
    }
    case "posts":
      for (let i = 0; i < message.list.length; i += 3) {
        const [id, path, body] = message.list.slice(i, i + 3) as [number, string, string];
        if (known) post(known.pool, known.facts, id, path, body, done);
        else done({ id, error: "the thread does not know this server", code: undefined, isWritten: false });
      }
      break;
    case "close":
      targets.delete(message.target);
      void known?.pool.destroy();
      break;
  }
});
say({ kind: "ready" });
