/** The thread that posts. Started by thread.ts. */
import { parentPort } from "node:worker_threads";
import { Connections } from "./connections.js";
import { addResult, type FromThread, type PostResult, type ToThread } from "./protocol.js";

const port = parentPort;
if (!port) throw new Error("posts are made by a worker thread only");
const say = (message: FromThread) => port.postMessage(message);
const targets = new Map<number, Connections>();
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
    case "open":
      targets.set(message.target, new Connections(message.facts, done));
      break;
    case "posts":
      for (let i = 0; i < message.list.length; i += 3) {
        const [id, path, body] = message.list.slice(i, i + 3) as [number, string, string];
        if (known) known.post(id, path, body);
        else done({ id, error: "the thread does not know this server", code: undefined, isWritten: false });
      }
      break;
    case "close":
      targets.delete(message.target);
      known?.close();
      break;
  }
});
say({ kind: "ready" });
