/** The way to the thread that posts: started when it is wanted first, and again some time after its death. */
import type { Worker } from "node:worker_threads";
import { type Clock, systemClock } from "../clock.js";
import { errorMessage } from "../errors.js";
import type { Logger } from "../logger.js";
import { TransientMap } from "../transient-map.js";
import { startThread } from "../worker-file.js";
import { type PostAnswer, PostError } from "./answer.js";
import { type FromThread, type PostResult, type PostTarget, readResults, type ToThread } from "./protocol.js";

/** After its death, or when it could not be started. */
const REST_MS = 60_000;

/** Whose posts go to one server, over connections that are closed together. */
export interface Sender {
  readonly target: PostTarget;
}

export interface Job {
  readonly of: Sender;
  readonly path: string;
  readonly body: string;
  /** Given by the thread. */
  id: number;
  resolve(answer: PostAnswer): void;
  reject(error: PostError): void;
}

export class PostingThread {
  readonly #clock: Clock;
  readonly #startWorker: () => Worker;
  #worker: Worker | undefined;
  #isReady = false;
  #mayStartAt = 0;
  #lastTarget = 0;
  #lastId = 0;
  /** What this worker knows of. */
  readonly #open = new Map<Sender, number>();
  /** What it was given and has not answered. */
  readonly #jobs = new TransientMap<number, Job>();

  constructor(clock: Clock = systemClock, startWorker = startPosting) {
    this.#clock = clock;
    this.#startWorker = startWorker;
  }

  /** Starts it when it has to be; false while it is not there. `logger`: hears of it when it ends. */
  isReady(logger: Logger): boolean {
    if (!this.#worker && this.#clock.monotonic() >= this.#mayStartAt) this.#start(logger);
    return this.#isReady;
  }

  /** To be called when it is ready. */
  post(sender: Sender, jobs: readonly Job[]): void {
    const list: (number | string)[] = [];
    for (const job of jobs) {
      job.id = ++this.#lastId;
      this.#jobs.set(job.id, job);
      list.push(job.id, job.path, job.body);
    }
    this.#worker?.ref(); // as a connection would, what is under way keeps the process alive
    this.#say({ kind: "posts", target: this.#targetOf(sender), list });
  }

  /** Nobody waits for its answer any more. It is posted all the same. */
  forget({ id }: Job): void {
    this.#jobs.delete(id);
    this.#rest();
  }

  close(sender: Sender): void {
    this.#fail("the connection was closed", sender);
    const target = this.#open.get(sender);
    this.#open.delete(sender);
    if (target !== undefined) this.#say({ kind: "close", target });
  }

  #targetOf(sender: Sender): number {
    const known = this.#open.get(sender);
    if (known !== undefined) return known;
    const target = ++this.#lastTarget;
    this.#open.set(sender, target);
    this.#say({ kind: "open", target, facts: sender.target });
    return target;
  }

  #say(message: ToThread): void {
    this.#worker?.postMessage(message);
  }

  #start(logger: Logger): void {
    try {
      this.#worker = this.#startWorker();
    } catch (thrown) {
      this.#ended(logger, thrown);
      return;
    }
    let fault: unknown;
    this.#worker.on("message", (message: FromThread) => {
      if (message.kind === "ready") this.#isReady = true;
      else this.#settle(readResults(message.list));
    });
    this.#worker.on("error", (error) => {
      fault = error; // `exit` follows
    });
    this.#worker.on("exit", (code) => this.#ended(logger, fault ?? `exit code ${code}`));
    this.#worker.unref(); // last: to listen for messages is to refer to it
  }

  #ended(logger: Logger, why: unknown): void {
    this.#worker = undefined;
    this.#isReady = false;
    this.#mayStartAt = this.#clock.monotonic() + REST_MS;
    this.#open.clear();
    logger.warn(
      { err: why, pauseMs: REST_MS },
      `the thread that posts ended, posts go without it: ${errorMessage(why)}`,
    );
    this.#fail("the thread that posts ended");
  }

  #settle(results: readonly PostResult[]): void {
    for (const result of results) {
      const job = this.#jobs.delete(result.id);
      if (!job) continue; // given up meanwhile
      if ("error" in result) job.reject(new PostError(result.error, result.isWritten, result.code));
      else job.resolve(answerOf(result, job.of.target.readHeaders));
    }
    this.#rest();
  }

  /** Nobody knows how far those came that it had. */
  #fail(why: string, of?: Sender): void {
    for (const [id, job] of this.#jobs.entries()) {
      if (of !== undefined && job.of !== of) continue;
      this.#jobs.delete(id);
      job.reject(new PostError(why, true));
    }
    this.#rest();
  }

  #rest(): void {
    if (this.#jobs.size === 0) this.#worker?.unref();
  }
}

/** One for the process. */
export const postingThread = new PostingThread();

function startPosting(): Worker {
  return startThread("posting", new URL("./worker.ts", import.meta.url), "posting-worker.js");
}

function answerOf(
  { status, found, body, headers }: Extract<PostResult, { status: number }>,
  names: readonly string[],
): PostAnswer {
  return { status, found, body, header: (name) => headers[names.indexOf(name)] ?? null };
}
