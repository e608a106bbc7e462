/** The journal's thread: owns the writing connection. Started by link.ts. */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { openJournalDatabase } from "./database.js";
import type { JournalReply, ThreadRequest, WriterFacts } from "./protocol.js";
import { createJournalWriter } from "./writer.js";

if (!parentPort) throw new Error("the journal's writer runs as a worker thread only");
// Its data is from link.ts in the same process, so not checked: zod would cost this thread megabytes.
serve(parentPort, workerData);

function serve(port: MessagePort, facts: WriterFacts): void {
  const database = openJournalDatabase(facts.file, "writer");
  const writer = createJournalWriter(database, facts);
  const reply = (message: JournalReply) => port.postMessage(message);
  port.on("message", (request: ThreadRequest) => {
    if (request.kind === "write" || request.kind === "sweep") return reply(writer.handle(request));
    if (request.kind === "secrets") return void facts.secrets.push(...request.more);
    database.close();
    port.close();
  });
  reply({ kind: "ready", lastBatch: writer.lastBatch });
}
