import { join } from "node:path";
import { expect, test } from "vitest";
import { Pack } from "../../src/fast/pack/pack.js";
import { silentLogger } from "../../src/lib/logger.js";
import { systemClock } from "../../src/lib/time/clock.js";
import { openJournalDatabase } from "../../src/store/journal/database.js";
import type { WriterLink } from "../../src/store/journal/link.js";
import type { JournalReply } from "../../src/store/journal/protocol.js";
import { Sender } from "../../src/store/journal/sender.js";
import { createJournalWriter } from "../../src/store/journal/writer.js";
import { createSchema, HISTORY_SCHEMA } from "../../src/store/schema.js";
import { until } from "../support/until.js";
import { bareDispatch } from "./support/bare-dispatch.js";
import { temporaryFolder } from "./support/open-test-store.js";

test("a batch that was written, but whose writer died before it said so, is not written again", async () => {
  const file = join(temporaryFolder(), "journal.db");
  const database = openJournalDatabase(file, "creator");
  createSchema(database, file, HISTORY_SCHEMA);
  const facts = { file, session: "s_1", secrets: [] };
  // The real writer behind a line that can be cut: replies of the first one never arrive.
  let writer = createJournalWriter(database, facts);
  let isCut = true;
  const reply = (message: JournalReply) => {
    if (message.kind === "ready" || message.kind === "written") sender.onReply(message);
  };
  const link: WriterLink = {
    start: () => reply({ kind: "ready", lastBatch: writer.lastBatch }),
    post: (request) => {
      const answer = writer.handle(request);
      if (!isCut) setImmediate(() => reply(answer));
    },
    hold: () => {},
    close: async () => {},
  };
  const sender = new Sender(link, { clock: systemClock, logger: silentLogger, maxPending: 1000, file });
  const push = (id: string) => sender.push(bareDispatch({ id }));

  push("x1");
  await until(() => database.prepare("SELECT 1 FROM segments").get());
  writer = createJournalWriter(database, facts);
  expect(writer.lastBatch).toBe(1);
  isCut = false;
  link.start();
  push("x2");
  await sender.flush();
  const segments = database.prepare<[], { pack: Buffer }>("SELECT pack FROM segments ORDER BY n").all();
  expect(segments.map(({ pack }) => new Pack(pack).header(0).id)).toEqual(["x1", "x2"]);
  database.close();
});
