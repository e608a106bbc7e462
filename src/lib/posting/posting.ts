/**
 * Posts to one server. Those of a crowd are made by a thread of their own: writing a request and reading its answer is a
 * quarter of what a message takes of the main thread. A few at a time are quicker made where they are asked for, as are all
 * while there is no such thread.
 */
import { Aborts } from "../aborts.js";
import type { Logger } from "../logger.js";
import { type PostAnswer, PostError } from "./answer.js";
import type { PostTarget } from "./protocol.js";
import { type Job, postingThread, type Sender } from "./thread.js";

/** More under way at once than this are a crowd. */
const CROWD = 24;

/** How a post is made where it is asked for. */
type Here = () => Promise<PostAnswer>;

interface ListedJob extends Job {
  readonly here: Here;
  reject(error: unknown): void;
}

export interface PostingOptions {
  target: PostTarget;
  logger: Logger;
  crowd?: number;
  thread?: typeof postingThread;
}

export class Posting implements Sender {
  readonly target: PostTarget;
  readonly #logger: Logger;
  readonly #crowd: number;
  readonly #thread: typeof postingThread;
  readonly #aborts = new Aborts();
  #underWay = 0;
  #isClosed = false;
  /** Those of this turn, which go together. Nothing of them has been written. */
  #listed: ListedJob[] = [];

  constructor({ target, logger, crowd = CROWD, thread = postingThread }: PostingOptions) {
    this.target = target;
    this.#logger = logger;
    this.#crowd = crowd;
    this.#thread = thread;
  }

  /** Rejects as `here` does, or with a `PostError`. The signal ends the wait for what the thread has, not the request. */
  post(path: string, body: string, here: Here, signal?: AbortSignal): Promise<PostAnswer> {
    this.#underWay++;
    return this.#isForThread(signal) ? this.#byThread(path, body, here, signal) : this.#byOurselves(here);
  }

  /** Ends what is under way. Posts that come later are made `here`, where they fail as everything does that was closed. */
  close(): void {
    this.#isClosed = true;
    for (const job of this.#listed.splice(0)) job.reject(new PostError("the connection was closed", false));
    this.#thread.close(this);
  }

  #isForThread(signal: AbortSignal | undefined): boolean {
    if (this.#isClosed || this.#underWay <= this.#crowd || signal?.aborted) return false;
    return this.#thread.isReady(this.#logger);
  }

  async #byOurselves(here: Here): Promise<PostAnswer> {
    try {
      return await here();
    } finally {
      this.#underWay--;
    }
  }

  #byThread(path: string, body: string, here: Here, signal: AbortSignal | undefined): Promise<PostAnswer> {
    return new Promise((resolve, reject) => {
      const settled = () => {
        this.#underWay--;
        off?.();
      };
      const job: ListedJob = {
        id: 0,
        of: this,
        path,
        body,
        here,
        resolve(answer) {
          settled();
          resolve(answer);
        },
        reject(error) {
          settled();
          reject(error);
        },
      };
      if (this.#listed.push(job) === 1) setImmediate(() => this.#handOver());
      const off = signal && this.#aborts.on(signal, () => this.#giveUp(job));
    });
  }

  #handOver(): void {
    const jobs = this.#listed;
    this.#listed = [];
    if (jobs.length === 0) return;
    if (this.#thread.isReady(this.#logger)) this.#thread.post(this, jobs);
    else for (const job of jobs) Promise.resolve().then(job.here).then(job.resolve, job.reject); // it ended this very moment
  }

  #giveUp(job: ListedJob): void {
    const place = this.#listed.indexOf(job);
    if (place >= 0) this.#listed.splice(place, 1);
    else this.#thread.forget(job);
    job.reject(new PostError("the request was given up", place < 0));
  }
}
