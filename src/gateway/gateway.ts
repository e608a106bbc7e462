/** The gateway, composed: inbox, outbox, adapters and commands on one hook registry. `contract.ts` has its interface. */
import type { GatewayPort } from "../domain/chat/adapter.js";
import type { Address } from "../domain/chat/address.js";
import type { OutboundMessage } from "../domain/chat/message.js";
import { queueOf } from "../domain/deliveries/outbox-queue.js";
import { DELIVERY_ENDS, LATE_NOTE } from "../domain/pending.js";
import type { CancelledRest, Delivery, Pause } from "../domain/store.js";
import { createPerMinute } from "../lib/concurrency/per-minute.js";
import { within } from "../lib/concurrency/within.js";
import { HookgateError } from "../lib/errors.js";
import { OrdinaryStops } from "../pending/ordinary-stops.js";
import type { Pending } from "../pending/pending.js";
import { ActionTokens } from "./action-tokens.js";
import { Adapters } from "./adapters.js";
import { Background } from "./background.js";
import type { CommandAnswer } from "./commands.js";
import { complete } from "./complete.js";
import { completeAddress, takesCopies } from "./complete-address.js";
import type { AnswersTo, Gateway, GatewayOptions, Invocation, RepliedTo, SendOptions } from "./contract.js";
import { laneRow } from "./conversation.js";
import { Conversations } from "./conversations.js";
import type { Deps } from "./deps.js";
import { destinationProblem } from "./destination-problem.js";
import { accept, type Intake } from "./inbound/accept.js";
import { followChanges } from "./inbound/changes.js";
import { answersTo } from "./inbound/forward.js";
import { senderKey, shareHolder, tooMuchWaiting, waitingTooMany } from "./inbound/not-taken.js";
import { CommandTable } from "./inbound/parse-command.js";
import type { Inbound, KeepFile } from "./inbound/receiving.js";
import { type RunTurns, Suspects } from "./inbound/suspects.js";
import { decideNote } from "./inbound/unanswered.js";
import { workLane } from "./inbound/work-lane.js";
import { invoke } from "./invoke.js";
import { DISCARDED, discard } from "./outbound/discard.js";
import { enqueue, type NewContent } from "./outbound/enqueue.js";
import { notifyPending } from "./outbound/notices/notify-pending.js";
import { withoutReference } from "./outbound/out-of-reach.js";
import { Outages } from "./outbound/outages.js";
import { Parking } from "./outbound/parking.js";
import { Pauses } from "./outbound/pauses.js";
import { release } from "./outbound/release.js";
import { cancelRestOfAnswer, correct, retract, withdrawAnswer } from "./outbound/retract.js";
import { whereTo } from "./outbound/send/plan-parts.js";
import { RateLimiter } from "./outbound/send/rate-limit.js";
import { Requests } from "./outbound/send/request.js";
import type { Outbound } from "./outbound/sending.js";
import { lineCheck } from "./outbound/unknown-commands.js";
import { ReplyAtOnce, sendNext } from "./outbound.js";
import { type Listens, listensAt, type Place } from "./people/access.js";
import { type Identify, identifier, peopleOn } from "./people/identity.js";
import { Ignored } from "./people/ignored.js";
import { Pressure } from "./pressure.js";
import { readStatus } from "./read-status.js";
import type { Routes } from "./routes.js";
import { SendGate } from "./send-gate.js";
import type { GatewayStatus } from "./status.js";

export type * from "./contract.js";

/** Composes it; nothing runs before `start()`. */
export function createGateway(options: GatewayOptions): Gateway {
  return new RunningGateway(options);
}

class RunningGateway implements Gateway {
  readonly #deps: Deps;
  readonly #commands: CommandTable;
  readonly #routes: Routes;
  readonly #keepFile: KeepFile | undefined;
  readonly #repliedTo: RepliedTo | undefined;
  readonly #beforeSending: (() => Promise<void>) | undefined;
  readonly #pressure: Pressure;
  readonly #parking = new Parking();
  readonly #pending: Pending;
  readonly #requests: Requests;
  readonly #conversations: Conversations;
  readonly #gate: SendGate;
  readonly #suspects: Suspects;
  readonly identify: Identify;
  readonly #ignored: Ignored;
  readonly #peopleOn: (platform: string) => number;
  /** Composed by `start()`: they need facts that only the store has. */
  #inbound: Inbound | undefined;
  #outbound: Outbound | undefined;
  #phase: "new" | "running" | "stopping" = "new";

  constructor({
    store,
    moves,
    registry,
    pending,
    adapters,
    commands,
    pluginCommands,
    config,
    console,
    clock,
    logger,
    routes,
    keepFile,
    watch,
    observe,
    beforeSending,
    repliedTo,
    claims,
    offers,
    mayPost = () => true,
    ofUnknownAge = new Set(),
    readableReason = async (_operator, _delivery, { reason }) => reason,
    shown = (text) => text,
    stops = new OrdinaryStops(store.keyValue, clock, logger),
  }: GatewayOptions) {
    this.identify = identifier(config.operators, console, claims?.owners);
    this.#ignored = new Ignored(logger);
    this.#peopleOn = (platform) =>
      peopleOn(platform, config.operators, claims?.owners ?? new Map()) + (console?.platform === platform ? 1 : 0);
    this.#commands = new CommandTable(commands, pluginCommands);
    this.#routes = routes ?? new Map();
    this.#keepFile = keepFile;
    this.#repliedTo = repliedTo;
    this.#beforeSending = beforeSending;
    this.#pressure = new Pressure(config.gateway.max_waiting, clock, logger);
    this.#requests = new Requests(clock, config.gateway);
    this.#pending = pending;
    this.#conversations = new Conversations({
      inbox: store.inbox,
      outbox: store.outbox,
      stops,
      onDeliveries: (change) => this.#pressure.unsent(change),
      handle: (lane) => workLane(lane, this.#intake, this.#in),
      send: (queue) => sendNext(queue, this.#out),
      maxHandling: config.gateway.parallel_conversations,
      maxSending: config.gateway.parallel_sends,
      clock,
      logger,
    });
    const { send_timeout, inbox_attempts } = config.gateway;
    this.#gate = new SendGate(clock, send_timeout, (queue) => this.#wakeQueue(queue));
    this.#suspects = new Suspects(
      { maxAttempts: inbox_attempts, clock },
      (lane) => this.#conversations.wake(lane),
      this.#gate,
      () => store.written(),
    );
    this.#deps = {
      store,
      registry,
      adapters: new Adapters({
        adapters,
        port: (platform) => this.#port(platform),
        pauseOf: (platform) => this.#outbound?.pauses.ofAllRequests(platform, clock.now()),
        cursors: (platform) => store.cursors(platform),
        onOnline: (platform) => this.#wake(platform),
        clock,
        logger,
      }),
      moves,
      background: new Background(logger),
      stops,
      config: config.gateway,
      access: config.access,
      clock,
      logger,
      observe: observe ?? {},
      watch,
      offers: offers ?? {
        plans: () => [],
        assignees: () => [],
        rotas: () => [],
        policies: () => [],
        personName: () => undefined,
        placeName: () => undefined,
      },
      mayPost,
      ofUnknownAge,
      readableReason,
      shown,
      claims,
    };
  }

  inTurn<T>(cutOffs: number, work: () => Promise<T>): Promise<T> {
    return this.#suspects.inTurn(cutOffs, work);
  }

  get runTurns(): RunTurns {
    return this.#suspects;
  }

  async start(): Promise<void> {
    if (this.#phase !== "new") throw notAgain();
    const { store, adapters } = this.#deps;
    const tokens = new ActionTokens(store.actions, await store.ownSecret("action-tokens"));
    this.#inbound = {
      ...this.#deps,
      identify: this.identify,
      refuseClaim: (claim) => this.refuseClaim(claim),
      commands: this.#commands,
      routes: this.#routes,
      keepFile: this.#keepFile,
      repliedTo: this.#repliedTo,
      ignored: this.#ignored,
      perMinute: createPerMinute(this.#deps.clock),
      tokens,
      confirmArrival: (id, partIndex, messageId) => this.#confirmArrival(id, partIndex, messageId),
      correct: (copyId, corrected) => correct(copyId, corrected, this.#out),
      retract: (copyId) => retract(copyId, this.#out),
      pending: this.#pending,
      wakeOutbox: (queue) => this.#rereadAndWake(queue),
      conversations: this.#conversations,
      replyAtOnce: (delivery, near) => ReplyAtOnce.decide(delivery, near, this.#out),
    };
    this.#outbound = {
      ...this.#deps,
      tokens,
      checkLine: lineCheck(this.#commands, this.#deps.logger),
      limiter: new RateLimiter(),
      pauses: await Pauses.load(store.pauses, this.#deps.clock.now()),
      outages: new Outages({
        ...this.#deps,
        cursors: store.cursors("gateway"),
        parking: this.#parking,
        wake: (queue) => this.#wakeQueue(queue),
        wakeParked: (platform) => this.#wake(platform),
      }),
      requests: this.#requests,
      parking: this.#parking,
      unsaved: new Map(),
      gate: this.#gate,
      decideSuspect: (id, decision) => this.#suspects.decide(decision, id),
      isStopping: () => this.#phase === "stopping",
      startedAt: this.#deps.clock.now(),
      endNotified: (id) => {
        const workId = store.outbox.endNotified(id);
        if (workId !== undefined) this.#pending.finished(workId);
      },
      conversations: this.#conversations,
      wake: (queue) => this.#rereadAndWake(queue),
    };
    this.#phase = "running";
    await this.#beforeSending?.();
    await this.#resume();
    adapters.start();
  }

  async stop(): Promise<void> {
    if (this.#phase !== "running") return;
    this.#phase = "stopping";
    const { adapters, background, clock, config, logger } = this.#deps;
    this.#pressure.close();
    // Adapters stop taking in and wait for the work under way; lanes and conversations finish the row they are at.
    const drained = Promise.all([adapters.stop(), this.#conversations.stop(), this.#pending.end([LATE_NOTE])])
      .then(() => background.drained())
      .then(() => this.#pending.drained([DELIVERY_ENDS]));
    if (await within(clock, config.shutdown_timeout, drained)) return this.#pending.deleteFinished();
    // A request that was written may have arrived: without its answer the message is held. Each has a time limit of its own.
    const leftMs = Math.min(this.#requests.longestLeftMs, config.send_timeout);
    if (leftMs > 0 && (await within(clock, leftMs, drained))) return this.#pending.deleteFinished();
    logger.warn(
      { lanes: this.#conversations.handling, sending: this.#conversations.sending },
      "stopping without waiting any longer",
    );
    this.#requests.giveUpAll("the gateway stopped before the platform answered");
    await within(clock, LAST_WORDS_MS, drained);
    await this.#pending.deleteFinished();
  }

  async send(at: Address, message: OutboundMessage, options: SendOptions): Promise<string> {
    const { adapters } = this.#deps;
    if (!adapters.get(at.platform))
      throw new HookgateError({
        code: "PLATFORM_UNKNOWN",
        message: `The platform "${at.platform}" is not switched on.`,
      });
    const current = completeAddress(at, this.#deps);
    // The message that it refers to is in the chat that was asked for.
    const isRenumbered = current.chatId !== at.chatId && adapters.get(at.platform)?.traits.idsPerChat === true;
    const content = isRenumbered ? withoutReference(message) : message;
    return this.#enqueue({ operation: "send", address: whereTo(current, content), message: content }, options);
  }

  currentAddress(at: Address): Address {
    return completeAddress(at, this.#deps);
  }

  addressesOf(at: Address): Address[] {
    const current = this.currentAddress(at);
    const former = this.#deps.moves.former(current) ?? [];
    return [current, ...former.map((chatId) => ({ ...current, chatId }))];
  }

  refuseClaim({ routeTo }: { readonly routeTo?: unknown }): string | undefined {
    if (routeTo === undefined) return undefined;
    const problem = destinationProblem(this.#deps.moves.current(routeTo as Address), this.#deps.adapters);
    return problem && `routeTo: ${problem}`;
  }

  async edit(deliveryId: string, message: OutboundMessage, options: SendOptions): Promise<string> {
    const { id: targetId, address } = await this.#root(deliveryId);
    return this.#enqueue({ operation: "edit", address, message, targetId }, options);
  }

  async remove(deliveryId: string, options: SendOptions): Promise<string> {
    const { id: targetId, address } = await this.#root(deliveryId);
    return this.#enqueue({ operation: "delete", address, targetId }, options);
  }

  listens(platform: string, userId: string, place: Place): Listens {
    return listensAt(this.#deps.access[platform], place, this.identify(platform, userId));
  }

  takesCopies(at: Address): boolean {
    return takesCopies(at, this.#deps);
  }

  answersTo(at: Address, messageId: string): Promise<AnswersTo | undefined> {
    return answersTo(at, messageId, this.#deps);
  }

  invoke(invocation: Invocation): Promise<CommandAnswer> {
    return invoke(invocation, this.#commands, this.#deps);
  }

  release(deliveryId: string, confirmed = false): Promise<boolean> {
    return release(deliveryId, confirmed, this.#out);
  }

  async #confirmArrival(deliveryId: string, partIndex: number, messageId: string): Promise<void> {
    const { store, clock } = this.#deps;
    await store.outbox.partSent(deliveryId, partIndex, messageId, clock.now());
    await this.release(deliveryId, true);
  }

  discard(ids: readonly string[], reason = DISCARDED): Promise<string[]> {
    return discard(ids, reason, this.#out);
  }

  withdraw(deliveryId: string, reason: string): Promise<boolean> {
    return withdrawAnswer(deliveryId, reason, this.#out);
  }

  cancelRest(deliveryId: string, reason: string): Promise<CancelledRest | undefined> {
    return cancelRestOfAnswer(deliveryId, reason, this.#out);
  }

  async revive(inboxId: number): Promise<boolean> {
    const { store, clock } = this.#deps;
    await followChanges(inboxId, this.#deps);
    if (!(await store.inbox.revive(inboxId, clock.now()))) return false;
    const row = await store.inbox.get(inboxId);
    if (!row || this.#phase !== "running") return true;
    this.#pressure.add(shareHolder(row.event));
    this.#conversations.wake(this.#conversations.laneOf(row.lane).reload());
    return true;
  }

  status(): Promise<GatewayStatus> {
    return readStatus({
      ...this.#deps,
      isRunning: this.#phase === "running",
      outbound: this.#outbound,
      conversations: this.#conversations,
      parking: this.#parking,
      pressure: this.#pressure,
      ignored: this.#ignored,
      turns: this.#suspects.turns,
      peopleOn: this.#peopleOn,
    });
  }

  /** Wakes every lane and every conversation with something unfinished, after a stop or a crash. */
  async #resume(): Promise<void> {
    const { inbox, outbox } = this.#deps.store;
    // Before anything new ends.
    this.#pending.handle(DELIVERY_ENDS, (item) => notifyPending(item, this.#out), { callsHooks: true });
    this.#pending.handle(LATE_NOTE, (item) => decideNote(item, this.#in));
    await this.#pending.resume([DELIVERY_ENDS, LATE_NOTE]);
    const lanes = new Set<string>();
    for (let afterId = 0; ; ) {
      const rows = await inbox.unfinished(afterId, RESUME_PAGE);
      for (const row of rows) {
        this.#suspects.expect(laneRow(row, this.#deps.stops));
        this.#pressure.add(shareHolder(row.event));
        lanes.add(row.lane);
      }
      afterId = rows.at(-1)?.id ?? afterId;
      if (rows.length < RESUME_PAGE) break;
    }
    for (const lane of lanes) this.#conversations.wake(this.#conversations.laneOf(lane).reload());
    for (const { queue, dueAt } of await outbox.pending()) {
      this.#conversations.wake(this.#conversations.queueOf(queue).read(), this.#boundedDue(dueAt));
    }
  }

  /** No retry waits longer than `retry_max`, and a time that a platform asked for is a pause: a later time was set under another clock. */
  #boundedDue(dueAt: number): number | undefined {
    const { clock, config } = this.#deps;
    return dueAt - clock.now() > config.retry_max ? undefined : dueAt;
  }

  async clockStepped(stepMs: number): Promise<void> {
    if (this.#phase !== "running") return;
    const { adapters, store } = this.#deps;
    const { inbox, outbox } = store;
    adapters.shift(stepMs);
    this.#out.startedAt += stepMs;
    this.#out.outages.shift(stepMs);
    await Promise.all([this.#out.pauses.shift(stepMs), this.#conversations.shift(stepMs), inbox.shift(stepMs)]);
    for (const { queue } of await outbox.pending()) this.#rereadAndWake(queue);
  }

  chatPause(at: Address): Pause | undefined {
    return this.#outbound?.pauses.ofChat(completeAddress(at, this.#deps), this.#deps.clock.now());
  }

  async liftPauses(key?: string): Promise<string[]> {
    const { store, clock, adapters } = this.#deps;
    const [lifted, offered] = [await this.#out.pauses.lift(key), await this.#conversations.hurry(key, clock.now())];
    for (const lane of offered) this.#conversations.wake(lane);
    adapters.pausesLifted(new Set(lifted.map((one) => one.split(":", 1)[0] as string)));
    await Promise.all(lifted.map((one) => store.outbox.dueNow(one, clock.now())));
    if (lifted.length > 0) for (const { queue } of await store.outbox.pending()) this.#rereadAndWake(queue);
    return [...new Set([...lifted, ...offered.map((lane) => lane.key)])];
  }

  /** The functions that an adapter is given. */
  #port(platform: string): Omit<GatewayPort, "state"> {
    const { background, clock, adapters } = this.#deps;
    return {
      pause: (askedMs, reason) =>
        background.run("a pause", this.#out.pauses.setForAllRequests(platform, askedMs, reason, clock.now())),
      paused: () => adapters.paused(platform),
      accept: (event) => accept(event, this.#intake, this.#in),
      room: () => this.#pressure.room(true),
      reserve: (userId, text) => this.#reserve(senderKey(platform, userId), text),
      madeToken: (token) => this.#in.tokens.isOurs(token),
      freshLink: async (file, signal) => adapters.get(file.platform ?? "")?.freshLink?.(file.url, signal),
      complete: (query) => complete(query, this.#commands, this.identify, this.#deps),
      commands: () => this.#commands.all,
    };
  }

  #reserve(sender: string, text: string | undefined): () => void {
    if (text !== undefined && this.#commands.read(text)) return () => {};
    const reserved = this.#pressure.reserve(sender);
    if (typeof reserved !== "function") throw waitingTooMany(reserved);
    if (!this.#pressure.isFull) return reserved;
    reserved();
    throw tooMuchWaiting();
  }

  get #intake(): Intake {
    return {
      conversations: this.#conversations,
      suspects: this.#suspects,
      pressure: this.#pressure,
      hasRoom: () => this.#hasRoom(),
      isStopping: () => this.#phase === "stopping",
    };
  }

  #hasRoom(): boolean {
    const { active, waiting } = this.#conversations.handling;
    return waiting === 0 && this.#suspects.isIdle && active < this.#deps.config.parallel_conversations;
  }

  #wake(platform: string): void {
    for (const queue of this.#parking.leave(platform)) this.#wakeQueue(queue);
  }

  #wakeQueue(queue: string): void {
    this.#conversations.wake(this.#conversations.queueOf(queue));
  }

  /** Before `start()` nothing is woken: it resumes all that is open. */
  #rereadAndWake(key: string): void {
    const queue = this.#conversations.queueOf(key).read();
    if (this.#phase === "running") this.#conversations.wake(queue);
  }

  async #root(deliveryId: string): Promise<Delivery> {
    const { outbox } = this.#deps.store;
    const found = await outbox.get(deliveryId);
    const root = found?.operation === "edit" && found.targetId !== undefined ? await outbox.get(found.targetId) : found;
    if (root) return root;
    throw new HookgateError({ code: "DELIVERY_UNKNOWN", message: `There is no delivery "${deliveryId}".` });
  }

  async #enqueue(what: NewContent, options: SendOptions): Promise<string> {
    const delivery = await enqueue(what, options, this.#deps);
    // An id that the caller chose may be there already.
    if (options.deliveryId !== undefined || this.#phase !== "running") this.#rereadAndWake(queueOf(delivery));
    else {
      const queue = this.#conversations.queueFor(delivery);
      queue.offer(delivery);
      this.#conversations.wake(queue);
    }
    return delivery.id;
  }

  get #in(): Inbound {
    return this.#inbound ?? notStarted();
  }

  get #out(): Outbound {
    return this.#outbound ?? notStarted();
  }
}

const RESUME_PAGE = 500;
/** For writing down that requests were given up. */
const LAST_WORDS_MS = 1_000;

function notStarted(): never {
  throw new HookgateError({ code: "GATEWAY_NOT_STARTED", message: "The gateway was not started.", retryable: true });
}

function notAgain(): HookgateError {
  return new HookgateError({ code: "GATEWAY_STARTED", message: "A gateway starts once; make another one." });
}
