/** A process that has the thread and nothing else to do; with a server as its argument it posts there, as often as it is told, one after the other. */
import { silentLogger } from "../../../src/lib/logger.js";
import { Posting } from "../../../src/lib/posting/posting.js";
import { postingThread } from "../../../src/lib/posting/thread.js";

const [origin, times = "1"] = process.argv.slice(2);
while (!postingThread.isReady(silentLogger)) await new Promise((resolve) => setTimeout(resolve, 5));
if (origin === undefined) process.stdout.write("ready\n");
else {
  const target = { origin, headers: {}, timeoutMs: 20_000, connectTimeoutMs: 20_000, readHeaders: [] };
  const posting = new Posting({ target, logger: silentLogger, crowd: 0 });
  const post = (path: string) =>
    posting
      .post(path, "", () => Promise.reject(new Error("it was made here")))
      .then(
        ({ body }) => process.stdout.write(`answered ${body}\n`),
        ({ isWritten, message }) => process.stdout.write(`failed, written: ${isWritten}: ${message}\n`),
      );
  let last = Promise.resolve(true);
  for (let i = 1; i <= Number(times); i++) last = last.then(() => post(`/last/${i}`));
}
