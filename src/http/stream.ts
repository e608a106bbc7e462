/**
 * Live changes to one open page, as server-sent events. A page names the last change that it saw and gets everything since;
 * no change is queued for it here: changes that it has not read yet are read from the store when it can take more.
 */
import type { ServerResponse } from "node:http";
import type { WebPerson, WebPort } from "../../adapters/web/port.js";
import type { Clock } from "../lib/time/clock.js";

const HEARTBEAT_MS = 15_000;
const PAGE = 100;
/** A page that missed more changes than this loads again, which is cheaper than replaying. */
const MAX_MISSED = 2000;

export interface StreamDeps {
  port: WebPort;
  person: WebPerson;
  response: ServerResponse;
  /** The last change that the page saw; undefined = from now on. */
  after: number | undefined;
  clock: Clock;
  /** Aborts when the server stops. */
  signal: AbortSignal;
}

/** Resolves when the page has gone or the server stops. */
export async function streamChanges({ port, person, response, after, clock, signal }: StreamDeps): Promise<void> {
  const pending = { changes: true, rooms: false, heartbeat: false };
  let wake = () => {};
  const rouse = (what: keyof typeof pending) => {
    pending[what] = true;
    wake();
  };
  const isOver = () => signal.aborted || response.destroyed || response.writableEnded;
  const end = () => wake();
  const unsubscribe = port.subscribe((what) => rouse(what === "rooms" ? "rooms" : "changes"));
  response.on("close", end);
  signal.addEventListener("abort", end);
  const beat = () =>
    clock.after(HEARTBEAT_MS, () => {
      rouse("heartbeat");
      heartbeat = beat();
    });
  let heartbeat = beat();

  /** Waits while the page reads slower than we write. */
  const write = async (text: string) => {
    if (isOver() || response.write(text)) return;
    await drained(response, signal);
  };

  try {
    let seq = await firstSeq(port, after, write);
    while (!isOver()) {
      if (pending.rooms) {
        pending.rooms = false;
        await write("event: rooms\ndata: {}\n\n");
      }
      while (pending.changes && !isOver()) {
        pending.changes = false;
        const page = await port.changes(person, seq, PAGE);
        for (const change of page.changes)
          await write(`id: ${change.seq}\nevent: message\ndata: ${JSON.stringify(change.message)}\n\n`);
        seq = page.seq;
        if (!page.done) pending.changes = true;
      }
      if (pending.heartbeat) {
        pending.heartbeat = false;
        // An event and no mere comment, so that the page notices when they stop coming.
        await write(`id: ${seq}\nevent: heartbeat\ndata: {}\n\n`);
      }
      if (isOver() || pending.changes || pending.rooms || pending.heartbeat) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    unsubscribe();
    heartbeat.cancel();
    signal.removeEventListener("abort", end);
    response.end();
  }
}

/** The place to go on from. A page that is too far behind, or that comes from another database, is asked to load again. */
async function firstSeq(
  port: WebPort,
  after: number | undefined,
  write: (text: string) => Promise<void>,
): Promise<number> {
  const last = await port.lastSeq();
  const isFar = after !== undefined && (after > last || last - after > MAX_MISSED);
  const seq = after === undefined || isFar ? last : after;
  await write(`retry: 1000\nid: ${seq}\nevent: ${isFar ? "reset" : "hello"}\ndata: {}\n\n`);
  return seq;
}

/** Resolves when the page can take more, has gone, or the server stops. */
function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done);
      response.off("close", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
    signal.addEventListener("abort", done);
    if (signal.aborted || response.destroyed) done();
  });
}
