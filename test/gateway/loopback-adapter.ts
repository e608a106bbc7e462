/**
 * A chat platform in memory, and the adapter for it. The platform outlives the adapter, as a real one outlives our process:
 * it keeps messages, remembers nonces, and answers as a script tells it to.
 */
import type {
  Accepted,
  Adapter,
  AdapterContext,
  AdapterTraits,
  EncodedPart,
  SendOperation,
  SendResult,
} from "../../src/domain/chat/adapter.js";
import type { Address } from "../../src/domain/chat/address.js";
import type { InboundEvent } from "../../src/domain/chat/event.js";
import type { OutboundMessage } from "../../src/domain/chat/message.js";

export interface Posted {
  id: string;
  chatId: string;
  threadId?: string;
  text: string;
  body: Record<string, unknown>;
  nonce?: string;
  visibleTo?: string;
  /** Answered through an interaction: `first` or a follow-up. */
  through?: "first" | "follow-up";
  edits: number;
  isDeleted: boolean;
}

/** What a scripted request comes to. `lost` = posted, and the answer is lost; `hang` = never answered. */
export type Scripted = SendResult | { kind: "lost" } | { kind: "hang" } | { kind: "throw" };

export class LoopbackPlatform {
  readonly name: string;
  readonly traits: Partial<AdapterTraits>;
  readonly messages: Posted[] = [];
  /** Every request that reached the platform, in order. */
  readonly requests: SendOperation[] = [];
  /** Called for every request; undefined = it does what was asked. */
  script: (operation: SendOperation, n: number) => Scripted | undefined = () => undefined;
  /** The files of a message are not fetched yet when its request is answered. */
  isFetching = false;
  /** Requests without an answer whose signal aborted. */
  calledOff = 0;
  /** Characters a request. */
  width = 40;
  #nextId = 1000;
  /** Where ids count in their chat only. */
  readonly #nextIdIn = new Map<string, number>();

  constructor(name = "loop", traits: Partial<AdapterTraits> = {}) {
    this.name = name;
    this.traits = traits;
  }

  /** What people see, in order. */
  texts(chatId?: string): string[] {
    return this.messages
      .filter((message) => !message.isDeleted && (chatId === undefined || message.chatId === chatId))
      .map((message) => message.text);
  }

  async take(operation: SendOperation, signal: AbortSignal): Promise<SendResult> {
    this.requests.push(operation);
    if (operation.kind !== "delete" && !this.isFetching) operation.fetch?.onEnd();
    const scripted = this.script(operation, this.requests.length);
    if (scripted?.kind === "hang")
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          this.calledOff++;
          reject(new Error("aborted"));
        }),
      );
    if (scripted?.kind === "throw") throw new Error("socket hang up");
    if (scripted && scripted.kind !== "lost") return scripted;
    const result = this.#do(operation);
    return scripted ? { kind: "ambiguous", error: "the answer was lost" } : result;
  }

  #do(operation: SendOperation): SendResult {
    if (operation.kind === "create") {
      const known = this.traits.idempotentCreate
        ? this.messages.find((message) => message.nonce === operation.nonce)
        : undefined;
      if (known) return { kind: "sent", messageId: known.id };
      const { chatId, threadId } = operation.address;
      const message: Posted = {
        id: this.#newId(chatId),
        chatId,
        threadId,
        text: operation.part.text,
        body: operation.part.body,
        nonce: operation.nonce,
        visibleTo: operation.visibleTo,
        through: operation.interaction && (operation.interaction.first ? "first" : "follow-up"),
        edits: 0,
        isDeleted: false,
      };
      this.messages.push(message);
      return { kind: "sent", messageId: message.id };
    }
    const message = this.messages.find(
      (one) =>
        one.id === operation.messageId &&
        !one.isDeleted &&
        (!this.traits.idsPerChat || one.chatId === operation.address.chatId),
    );
    if (!message) return { kind: "gone", error: "there is no such message" };
    if (operation.kind === "delete") message.isDeleted = true;
    else {
      message.text = operation.part.text;
      message.body = operation.part.body;
      message.edits++;
    }
    return { kind: "sent", messageId: message.id };
  }

  #newId(chatId: string): string {
    if (!this.traits.idsPerChat) return String(this.#nextId++);
    const id = this.#nextIdIn.get(chatId) ?? 1;
    this.#nextIdIn.set(chatId, id + 1);
    return String(id);
  }
}

export class LoopbackAdapter implements Adapter {
  readonly platform: string;
  readonly traits: AdapterTraits;
  readonly #world: LoopbackPlatform;
  #context: AdapterContext | undefined;
  /** Called at each `run`; throwing or rejecting is the adapter failing. */
  onRun: (n: number) => Promise<void> | void = () => {};
  runs = 0;
  /** Ends the run under way with this error. */
  fail: (error: Error) => void = () => {};

  constructor(world: LoopbackPlatform) {
    this.#world = world;
    this.platform = world.name;
    this.traits = {
      idempotentCreate: false,
      limits: { perSecond: Number.POSITIVE_INFINITY },
      isGroup: (chatId) => chatId.startsWith("-"),
      privateAddress: () => undefined,
      ...world.traits,
    };
  }

  async run(context: AdapterContext, signal: AbortSignal): Promise<void> {
    this.runs++;
    this.#context = context;
    context.gateway.state({ phase: "connecting", botId: "bot" });
    await this.onRun(this.runs);
    context.gateway.state({ phase: "online", botId: "bot" });
    await new Promise<void>((resolve, reject) => {
      this.fail = reject;
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve());
    });
  }

  /** So many characters a request as the platform says; **bold** is all the formatting there is. */
  encode(message: OutboundMessage, _at: Address, { plain }: { plain: boolean }): EncodedPart[] {
    const fields = (message.card?.fields ?? []).map(({ name, value }) => `${name}: ${value}`);
    const lines = [message.text, message.card?.title, message.card?.text, ...fields].filter(
      (line) => line !== undefined,
    );
    const text = lines.join("\n");
    const pieces = text.match(new RegExp(`[\\s\\S]{1,${this.#world.width}}`, "gu")) ?? [""];
    return pieces.map((piece, i) => ({
      text: piece,
      body: {
        text: plain ? piece.replaceAll("*", "") : piece,
        mentions: message.mentions,
        replyToId: message.replyToId === undefined || i > 0 ? undefined : message.replyToId,
        buttons: message.buttons && i === pieces.length - 1 ? message.buttons : undefined,
      },
      hasFile: message.attachments ? true : undefined,
    }));
  }

  send(operation: SendOperation, signal: AbortSignal): Promise<SendResult> {
    return this.#world.take(operation, signal);
  }

  get context(): AdapterContext {
    if (!this.#context) throw new Error("the adapter was not started");
    return this.#context;
  }

  /** The platform hands an event over. */
  receive(event: InboundEvent): Promise<Accepted> {
    return this.context.gateway.accept(event);
  }
}
