/** All conversations that have something open, and the one keyed queue that looks at their lanes and queues. */
import { COMMAND_LANE } from "../domain/chat/command-lane.js";
import { queueOf, readQueue } from "../domain/deliveries/outbox-queue.js";
import type { Delivery, NewDelivery, Pause } from "../domain/store.js";
import { PerKey } from "../lib/concurrency/per-key.js";
import { KeyedWork, Share } from "../lib/concurrency/work.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import { Conversation, type Lane, type Queue, type Shared } from "./conversation.js";
import type { RouteCall } from "./status.js";

/** Lanes that are listed as put off. */
const MAX_PUT_OFF = 200;

export interface ConversationsOptions {
  inbox: Shared["inbox"];
  outbox: Shared["outbox"];
  stops: Shared["stops"];
  onDeliveries: Shared["onDeliveries"];
  /** Handles the rows that are due in a lane. */
  handle: Shared["handle"];
  /** Sends the deliveries that are due in a queue. */
  send: Shared["send"];
  /** How many at the same time. */
  maxHandling: number;
  maxSending: number;
  clock: Clock;
  logger: Logger;
}

export class Conversations {
  readonly #shared: Shared;
  readonly #work: KeyedWork;
  readonly #all: PerKey<Conversation>;

  constructor({
    inbox,
    outbox,
    stops,
    onDeliveries,
    handle,
    send,
    maxHandling,
    maxSending,
    clock,
    logger,
  }: ConversationsOptions) {
    const handling = new Share(maxHandling, logger.child({ flow: "inbound" }));
    const sending = new Share(maxSending, logger.child({ flow: "outbound" }));
    const memory = { rows: 0, steps: 0, shifting: undefined };
    const shared: Shared = { inbox, outbox, stops, handling, sending, handle, send, onDeliveries, ...memory };
    this.#shared = shared;
    this.#work = new KeyedWork([handling, sending], { clock, isWaiting: true });
    this.#all = new PerKey(
      (address) => new Conversation(address, shared),
      (conversation) => conversation.isIdle,
    );
  }

  of(address: string): Conversation {
    return this.#all.of(address);
  }

  laneOf(key: string): Lane {
    const end = key.indexOf(COMMAND_LANE);
    return this.of(end < 0 ? key : key.slice(0, end)).lane(key);
  }

  queueOf(key: string): Queue {
    return this.of(readQueue(key).conversation).queue(key);
  }

  /** The queue that this delivery waits in. `near`: the conversation that it is mostly of. */
  queueFor(delivery: NewDelivery, near?: Conversation): Queue {
    const key = queueOf(delivery);
    return near?.address === key ? near.sending : this.queueOf(key);
  }

  get handling(): Share["depth"] {
    return this.#shared.handling.depth;
  }

  get sending(): Share["depth"] {
    return this.#shared.sending.depth;
  }

  /** There is something to do in a lane or a queue. */
  wake(key: Lane | Queue, atMs?: number): void {
    this.#work.wake(key, atMs);
  }

  /**
   * Takes a queue with nothing open for a delivery that is not stored yet. False when it has to wait for its turn. The taker owes
   * `sendNow`.
   */
  take(queue: Queue, delivery: Delivery): boolean {
    if (!queue.isEmpty || !queue.keeps(delivery) || !this.#work.claim(queue)) return false;
    queue.keep(delivery);
    return true;
  }

  /** Runs the job in a queue that was taken. */
  sendNow(queue: Queue, job: () => Promise<number | undefined>): void {
    this.#work.run(queue, job);
  }

  /** Nothing more is started. Resolves when the work under way has ended. */
  stop(): Promise<void> {
    return this.#work.stop();
  }

  /**
   * The clock was set: times move with it, also those of work under way. In the same turn, because a delivery would else expire, or
   * pass for one that was tried for long, by the step alone.
   */
  async shift(stepMs: number): Promise<void> {
    this.#shared.steps++;
    const known = new Set<Delivery>();
    for (const { queues } of this.#all.values())
      for (const queue of queues) for (const delivery of queue.known) known.add(delivery);
    for (const delivery of known) {
      delivery.createdAt += stepMs;
      delivery.dueAt += stepMs;
      if (delivery.expiresAt !== undefined) delivery.expiresAt += stepMs;
    }
    this.#shared.shifting = this.#shared.outbox.shift(stepMs);
    await this.#shared.shifting;
  }

  /** Lanes that wait because a hook put off their first message (`deferMs`). */
  async putOffs(now: number): Promise<Pause[]> {
    const rows = await this.#shared.inbox.list({ status: "deferred", limit: MAX_PUT_OFF });
    return rows
      .filter(({ error, dueAt }) => error === undefined && dueAt > now)
      .flatMap(({ lane: key, dueAt: until, id }) => {
        const head = this.laneOf(key).first;
        if (head?.id !== id || head.dueMs === 0) return []; // it is handled now
        const { by, askedMs } = head.putOff ?? { by: "a hook", askedMs: until - now };
        const reason = `${by} put off a message (deferMs), and later ones wait for it`;
        return [{ key, until, askedMs, reason, isPutOff: true }];
      });
  }

  /** Messages that the default route of a plugin has, or gets again because it did not answer in time. */
  async routed(nowMs: number): Promise<RouteCall[]> {
    const { inbox } = this.#shared;
    const [running, deferred] = await Promise.all([
      inbox.list({ status: "running", limit: MAX_PUT_OFF }),
      inbox.list({ status: "deferred", limit: MAX_PUT_OFF }),
    ]);
    return [...running, ...deferred].flatMap(({ id, lane }) => {
      const head = this.laneOf(lane).first;
      if (head?.id !== id || head.route === undefined) return [];
      const { plugin, timeouts, sinceMs } = head.route;
      const forMs = sinceMs === undefined ? undefined : Math.max(0, nowMs - sinceMs);
      return [{ messageId: `m${id}`, conversation: head.conversation, plugin, timeouts, forMs }];
    });
  }

  /** Offers deferred messages again now: those of one lane, or all. Gives the lanes to work. */
  async hurry(key: string | undefined, now: number): Promise<Lane[]> {
    const waiting = (await this.putOffs(now)).filter((pause) => key === undefined || pause.key === key);
    return waiting.map((pause) => {
      const lane = this.laneOf(pause.key);
      if (lane.first) lane.first.dueMs = 0;
      return lane;
    });
  }
}
