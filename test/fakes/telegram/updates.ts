/** Updates on their way to the bot: kept until confirmed, handed to one poller or to the webhook. */
import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { badRequest, Refused } from "./calls.js";

/** What Telegram sends unless `allowed_updates` says otherwise: all but these. */
/** An offset so far above the newest update's id is not believed. */
const FUTURE = 10;
const NOT_BY_DEFAULT = new Set(["chat_member", "message_reaction", "message_reaction_count"]);

export interface FakeUpdate {
  update_id: number;
  [kind: string]: unknown;
}

export interface Webhook {
  url: string;
  secret: string | undefined;
  maxConnections: number;
  allowed: string[] | undefined;
  lastErrorDate?: number;
  lastErrorMessage?: string;
}

interface Poll {
  limit: number;
  offset: number | undefined;
  resolve: (updates: FakeUpdate[]) => void;
  reject: (error: Refused) => void;
  timer: NodeJS.Timeout;
}

export class Updates {
  #queue: FakeUpdate[] = [];
  #head = 0;
  #nextId: number;
  #poll: Poll | undefined;
  #allowed: string[] | undefined;
  webhook: Webhook | undefined;
  /** The first pause before a webhook call is made again; it doubles up to 16 times that. */
  redeliverAfterMs = 20;
  /** Updates that were confirmed, by offset or by a 2xx answer. */
  confirmed = 0;
  /** Updates handed over, each time counted. */
  handedOver = 0;
  onConfirmed: (update: FakeUpdate) => void = () => {};
  #busyChats = new Set<string>();
  #calling = 0;
  #agent = new HttpAgent({ keepAlive: true });
  #timers = new Set<NodeJS.Timeout>();
  #isStopped = false;

  constructor(firstId: number) {
    this.#nextId = firstId;
  }

  /** Queues an update; undefined when the bot did not ask for this kind. */
  add(kind: string, body: unknown): FakeUpdate | undefined {
    const allowed = this.webhook ? this.webhook.allowed : this.#allowed;
    if (allowed && allowed.length > 0 ? !allowed.includes(kind) : NOT_BY_DEFAULT.has(kind)) return undefined;
    return this.addRaw({ update_id: this.#nextId, [kind]: body });
  }

  /** Queues anything, however malformed. */
  addRaw(update: FakeUpdate): FakeUpdate {
    if (Number.isInteger(update.update_id)) this.#nextId = Math.max(this.#nextId, update.update_id) + 1;
    this.#queue.push(update);
    this.#wake();
    return update;
  }

  /** As after a week without updates: from here on another number. */
  countsFrom(id: number): void {
    this.#nextId = id;
  }

  get nextId(): number {
    return this.#nextId;
  }

  /** Handed over or not, but not confirmed. */
  get pending(): FakeUpdate[] {
    return this.#queue.slice(this.#head);
  }

  /** A long poll waits for the next update. */
  get isPolled(): boolean {
    return this.#poll !== undefined;
  }

  /** https://core.telegram.org/bots/api#getupdates */
  async getUpdates(payload: Record<string, unknown>, onClose: (drop: () => void) => void): Promise<FakeUpdate[]> {
    if (this.webhook)
      throw new Refused(
        409,
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
      );
    const given = payload.offset === undefined ? undefined : Number(payload.offset);
    // One that lies in the future is none (tdlib/td: TQueue::get): all that waits is handed out.
    const offset = given !== undefined && given > this.#nextId + FUTURE ? undefined : given;
    const limit = Math.min(100, Math.max(1, Number(payload.limit ?? 100)));
    const timeoutMs = Math.min(50, Number(payload.timeout ?? 0)) * 1000;
    if (payload.allowed_updates !== undefined) this.#allowed = listOf(payload.allowed_updates);
    this.#poll?.reject(
      new Refused(
        409,
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
      ),
    );
    if (offset !== undefined && offset > 0) this.#confirmBelow(offset);
    if (offset !== undefined && offset < 0) this.#confirmBelow((this.#queue.at(offset)?.update_id ?? 1) as number);
    const ready = this.#take(limit);
    if (ready.length > 0 || timeoutMs === 0) return ready;
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(poll.timer);
        if (this.#poll === poll) this.#poll = undefined;
      };
      const poll: Poll = {
        limit,
        offset,
        resolve: (updates) => {
          end();
          resolve(updates);
        },
        reject: (error) => {
          end();
          reject(error);
        },
        timer: setTimeout(() => poll.resolve([]), timeoutMs),
      };
      this.#poll = poll;
      onClose(end);
    });
  }

  #confirmBelow(offset: number): void {
    while (this.#head < this.#queue.length) {
      const update = this.#queue[this.#head] as FakeUpdate;
      if (Number.isInteger(update.update_id) && update.update_id >= offset) break;
      this.#head++;
      this.confirmed++;
      this.onConfirmed(update);
    }
    if (this.#head > 10_000) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
  }

  #take(limit: number): FakeUpdate[] {
    const taken = this.#queue.slice(this.#head, this.#head + limit);
    this.handedOver += taken.length;
    return taken;
  }

  #wake(): void {
    if (this.webhook) return void this.#deliver();
    const poll = this.#poll;
    if (poll) poll.resolve(this.#take(poll.limit));
  }

  /** https://core.telegram.org/bots/api#setwebhook */
  setWebhook(payload: Record<string, unknown>): void {
    const url = String(payload.url ?? "");
    if (payload.drop_pending_updates === true || payload.drop_pending_updates === "true") this.#drop();
    if (url === "") {
      this.webhook = undefined;
      return;
    }
    if (!/^https?:\/\//.test(url)) throw badRequest("bad webhook: An HTTPS URL must be provided for webhook");
    const secret = payload.secret_token === undefined ? undefined : String(payload.secret_token);
    if (secret !== undefined && !/^[\w-]{1,256}$/.test(secret))
      throw badRequest("secret token contains unallowed characters");
    this.webhook = {
      url,
      secret,
      maxConnections: Number(payload.max_connections ?? 40),
      allowed: payload.allowed_updates === undefined ? this.webhook?.allowed : listOf(payload.allowed_updates),
    };
    this.#poll?.reject(new Refused(409, "Conflict: terminated by setWebhook request"));
    this.#deliver();
  }

  deleteWebhook(payload: Record<string, unknown>): void {
    if (payload.drop_pending_updates === true || payload.drop_pending_updates === "true") this.#drop();
    this.webhook = undefined;
  }

  webhookInfo(): Record<string, unknown> {
    const { webhook } = this;
    return {
      url: webhook?.url ?? "",
      has_custom_certificate: false,
      pending_update_count: this.#queue.length - this.#head,
      max_connections: webhook?.maxConnections,
      ip_address: webhook && "127.0.0.1",
      allowed_updates: webhook?.allowed,
      last_error_date: webhook?.lastErrorDate || undefined,
      last_error_message: webhook?.lastErrorDate ? webhook.lastErrorMessage : undefined,
    };
  }

  #drop(): void {
    this.#head = 0;
    this.#queue = [];
  }

  /** Calls the webhook with what waits: one call a chat at a time, in order; again after anything but 2xx. */
  #deliver(): void {
    const webhook = this.webhook;
    if (!webhook || this.#isStopped) return;
    for (const update of this.#queue.slice(this.#head, this.#head + 1000)) {
      if (this.#calling >= webhook.maxConnections) return;
      const lane = laneOf(update);
      if (this.#busyChats.has(lane)) continue;
      this.#busyChats.add(lane);
      this.#calling++;
      void this.#call(webhook, update, lane, 0);
    }
  }

  async #call(webhook: Webhook, update: FakeUpdate, lane: string, attempt: number): Promise<void> {
    this.handedOver++;
    const failure = await this.#post(webhook, update);
    this.#calling--;
    if (this.#isStopped) return;
    if (failure === undefined) {
      this.#busyChats.delete(lane);
      const at = this.#queue.indexOf(update, this.#head);
      if (at >= 0) this.#queue.splice(at, 1);
      this.confirmed++;
      this.onConfirmed(update);
      return this.#deliver();
    }
    webhook.lastErrorDate = Math.floor(Date.now() / 1000);
    webhook.lastErrorMessage = failure;
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        if (this.webhook === webhook) {
          this.#calling++;
          void this.#call(webhook, update, lane, attempt + 1);
        } else {
          this.#busyChats.delete(lane);
          this.#deliver();
        }
      },
      this.redeliverAfterMs * 2 ** Math.min(4, attempt),
    );
    this.#timers.add(timer);
  }

  /** Undefined when the answer was 2xx. */
  #post(webhook: Webhook, update: FakeUpdate): Promise<string | undefined> {
    return new Promise((resolve) => {
      const body = JSON.stringify(update);
      const call = httpRequest(webhook.url, {
        method: "POST",
        agent: this.#agent,
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
          ...(webhook.secret === undefined ? undefined : { "x-telegram-bot-api-secret-token": webhook.secret }),
        },
      });
      call.setTimeout(60_000, () => call.destroy(new Error("Read timeout expired")));
      call.on("response", (response) => {
        response.resume();
        const status = response.statusCode ?? 0;
        response.on("close", () =>
          resolve(status >= 200 && status < 300 ? undefined : `Wrong response from the webhook: ${status}`),
        );
      });
      call.on("error", (error) => resolve(`Connection failed: ${error.message}`));
      call.end(body);
    });
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#poll?.resolve([]);
    this.#agent.destroy();
  }
}

function laneOf(update: FakeUpdate): string {
  for (const value of Object.values(update)) {
    const body = Object(value) as { chat?: { id?: number }; message?: { chat?: { id?: number } } };
    const id = body.chat?.id ?? body.message?.chat?.id;
    if (id !== undefined) return String(id);
  }
  return `update ${String(update.update_id)}`;
}

function listOf(given: unknown): string[] {
  const list = typeof given === "string" ? (JSON.parse(given) as unknown) : given;
  if (!Array.isArray(list)) throw badRequest("can't parse allowed_updates");
  return list.map(String);
}
