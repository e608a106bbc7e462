/** The way to the writer: a worker thread that is started again when it dies, or, for temporary databases, this thread. */
import type { Worker } from "node:worker_threads";
import { errorMessage } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";
import { backoffMs } from "../../lib/time/backoff.js";
import type { Clock, Timer } from "../../lib/time/clock.js";
import { startThread } from "../../lib/worker-file.js";
import { openJournalDatabase } from "./database.js";
import type { JournalReply, JournalRequest, ThreadRequest, WriterFacts } from "./protocol.js";
import { createJournalWriter } from "./writer.js";

export interface WriterLink {
  /** Starts a writer; `ready` comes as a reply, and again whenever a new writer took over. */
  start(): void;
  post(request: Exclude<JournalRequest, { kind: "close" }>): void;
  /** While the process waits for something, it stays alive. */
  hold(isWaiting: boolean): void;
  close(): Promise<void>;
}

export interface LinkOptions {
  facts: WriterFacts;
  clock: Clock;
  logger: Logger;
  onReply(reply: JournalReply): void;
  /** Called with the error that ended the writer. */
  onError(error: Error): void;
  /** The writer is gone; another one is started after a pause. */
  onDeath(): void;
  onWorker?: ((worker: Worker) => void) | undefined;
}

const RESTART = { firstMs: 100, maxMs: 30_000 };
const CLOSE_WAIT_MS = 5_000;

/** The writer in this thread; it handles a request a turn of the event loop later. */
export function createLocalLink({ facts, onReply }: LinkOptions): WriterLink {
  const database = openJournalDatabase(facts.file, "writer");
  database.pragma("synchronous = OFF");
  const writer = createJournalWriter(database, facts);
  return {
    start: () => void setImmediate(() => onReply({ kind: "ready", lastBatch: 0 })),
    post: (request) => void setImmediate(() => onReply(writer.handle(request))),
    hold: () => {},
    async close() {
      database.close();
    },
  };
}

export function createWorkerLink(options: LinkOptions): WriterLink {
  return new WorkerLink(options);
}

class WorkerLink implements WriterLink {
  readonly #options: LinkOptions;
  #worker: Worker | undefined;
  #isReady = false;
  #isHeld = false;
  #isClosing = false;
  #deaths = 0;
  /** Secrets that the writer knows. */
  #secretsTold = 0;
  #restart: Timer | undefined;
  #onExit: (() => void) | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  start(): void {
    const { facts } = this.#options;
    const worker = startThread("journal", new URL("./worker.ts", import.meta.url), "journal-worker.js", facts);
    this.#secretsTold = facts.secrets.length;
    this.#worker = worker;
    this.hold(this.#isHeld);
    this.#options.onWorker?.(worker);
    worker.on("message", (reply: JournalReply) => {
      if (reply.kind === "ready") this.#isReady = true;
      if (reply.kind === "written") this.#deaths = 0;
      this.#options.onReply(reply);
    });
    worker.on("error", (error) => {
      this.#options.onError(error);
      this.#options.logger.error({ err: error }, `the journal's writer failed: ${errorMessage(error)}`);
    });
    worker.on("exit", (code) => this.#onDeath(code));
  }

  /** The request is lost when there is no writer at the moment; the next `ready` shows which ones have to be sent again. */
  post(request: JournalRequest): void {
    if (!this.#isReady) return;
    const { secrets } = this.#options.facts;
    if (secrets.length > this.#secretsTold) {
      this.#worker?.postMessage({ kind: "secrets", more: secrets.slice(this.#secretsTold) } satisfies ThreadRequest);
      this.#secretsTold = secrets.length;
    }
    // A pack is copied, not transferred: it is sent again if the writer dies.
    this.#worker?.postMessage(request satisfies ThreadRequest);
  }

  hold(isWaiting: boolean): void {
    this.#isHeld = isWaiting;
    if (isWaiting) this.#worker?.ref();
    else this.#worker?.unref();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#restart?.cancel();
    const worker = this.#worker;
    if (!worker) return;
    worker.ref();
    const exited = new Promise<void>((resolve) => {
      this.#onExit = resolve;
    });
    const giveUp = this.#options.clock.after(CLOSE_WAIT_MS, () => void worker.terminate());
    if (this.#isReady) this.post({ kind: "close" });
    else void worker.terminate();
    await exited;
    giveUp.cancel();
  }

  #onDeath(exitCode: number): void {
    this.#worker = undefined;
    this.#isReady = false;
    this.#onExit?.();
    this.#options.onDeath();
    if (this.#isClosing) return;
    const pauseMs = backoffMs(RESTART, ++this.#deaths);
    this.#options.logger.error({ exitCode, pauseMs }, "the journal's writer stopped; it is started again");
    this.#restart = this.#options.clock.after(pauseMs, () => this.start());
  }
}
