/**
 * Slash commands, presses, modals and completion. An interaction must be acknowledged within 3 seconds, and is acknowledged
 * only after it is on disk. https://discord.com/developers/docs/interactions/receiving-and-responding
 */

import { Routes } from "discord-api-types/v10";
import type { Accepted, Acknowledgement, GatewayPort } from "../../src/domain/chat/adapter.js";
import type { Choice } from "../../src/domain/chat/command.js";
import { MAX_CHOICE_LENGTH, MAX_CHOICES } from "../../src/domain/chat/command.js";
import type { ActionEvent, CommandEvent } from "../../src/domain/chat/event.js";
import type { Form } from "../../src/domain/chat/message.js";
import { ExchangeError } from "../../src/fast/exchange.js";
import { InFlight } from "../../src/lib/concurrency/in-flight.js";
import { errorMessage } from "../../src/lib/errors.js";
import type { Logger } from "../../src/lib/logger.js";
import { doubledMs } from "../../src/lib/time/backoff.js";
import { type Clock, wait } from "../../src/lib/time/clock.js";
import type { Caller } from "./caller.js";
import type { Channels } from "./channels.js";
import { EPHEMERAL } from "./codes.js";
import { decodeAction, decodeCommand, decodeCompletion, InteractionType } from "./decode/interaction.js";
import type { Self } from "./decode/message.js";
import type { InteractionPayload } from "./decode/payloads.js";
import { Limited, Refusal } from "./rest/errors.js";
import { describeFailure } from "./rest/outcome.js";
import { InvalidRequestPause } from "./rest/refusals.js";
import { snowflakeTime } from "./snowflake.js";

const CallbackType = { defer: 5, deferUpdate: 6, choices: 8, modal: 9 } as const;
interface Callback {
  type: (typeof CallbackType)[keyof typeof CallbackType];
  data?: object;
}
/** After this, another try at acknowledging would come too late. */
const TRY_WITHIN_MS = 2500;
/** After this, Discord takes no acknowledgement: no answer to one is waited for. */
const GIVE_UP_AFTER_MS = 3000;
const MAX_TRIES = 3;
const TRY_AGAIN_MS = 250;
/** 10062: too late. 40060: acknowledged before (a replay). */
const SETTLED_CODES: ReadonlySet<number | string> = new Set([10062, 40060]);

interface Context {
  gateway: GatewayPort;
  caller: Caller;
  channels: Channels;
  clock: Clock;
  logger: Logger;
}

export class Interactions {
  readonly #context: Context;
  readonly #underWay = new InFlight();
  /** By interaction, while its acknowledgement is under way. */
  readonly #acknowledging = new Map<string, Promise<void>>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Resolves when the interaction is on disk; the acknowledgement then goes its own way. Undefined: nothing to store. */
  take(payload: InteractionPayload, self: Self, raw: unknown): Promise<void> | undefined {
    if (payload.type === InteractionType.autocomplete) {
      void this.#underWay.add(this.#complete(payload));
      return undefined;
    }
    const event = this.#decode(payload, self, raw);
    if (!event) {
      this.#context.logger.debug({ type: payload.type }, "an interaction that is not ours to answer");
      return undefined;
    }
    return this.#context.gateway.accept(event).then((accepted) => this.#acknowledge(payload, accepted));
  }

  /** Resolves when no acknowledgement is under way. */
  allEnded(): Promise<void> {
    return this.#underWay.allEnded();
  }

  #decode(payload: InteractionPayload, self: Self, raw: unknown): CommandEvent | ActionEvent | undefined {
    const { channels, clock, gateway } = this.#context;
    const chatId = payload.channel_id ?? payload.channel?.id ?? "";
    const around = { self, parentChatId: channels.parentOf(chatId), receivedAt: clock.now(), raw };
    switch (payload.type) {
      case InteractionType.command:
        return decodeCommand(payload, around, gateway.commands());
      case InteractionType.component:
      case InteractionType.modal:
        return decodeAction(payload, around);
      default:
        return undefined;
    }
  }

  #acknowledge(payload: InteractionPayload, { acknowledge, kind }: Accepted): void {
    const body = callbackBody(acknowledge);
    if (!body) return;
    const { id } = payload;
    const settled = this.#post(payload, body, kind === "duplicate").finally(() => {
      if (this.#acknowledging.get(id) === settled) this.#acknowledging.delete(id);
    });
    this.#acknowledging.set(id, settled);
    void this.#underWay.add(settled);
  }

  /**
   * Settles with the acknowledgement of an interaction. An answer waits for it: before it, Discord knows no message to answer with, and
   * a later try that succeeds would show "thinking…" for ever.
   */
  acknowledged(interactionId: string): Promise<void> | undefined {
    return this.#acknowledging.get(interactionId);
  }

  async #complete(payload: InteractionPayload): Promise<void> {
    const query = decodeCompletion(payload);
    let choices: Choice[] = [];
    try {
      if (query) choices = await this.#context.gateway.complete(query);
    } catch (error) {
      this.#context.logger.warn({ error: errorMessage(error) }, "completion failed");
    }
    await this.#post(payload, { type: CallbackType.choices, data: { choices: shownChoices(choices) } });
  }

  /**
   * Another try is safe: Discord refuses a second acknowledgement. Each try comes later, or at the time that Discord names. `isReplayed`:
   * the interaction came before, and the log had its result then.
   */
  async #post(payload: InteractionPayload, body: Callback, isReplayed = false): Promise<void> {
    const { caller, clock, logger } = this.#context;
    // Discord's clock may be ahead of ours.
    const since = Math.min(snowflakeTime(payload.id), clock.now());
    const until = since + TRY_WITHIN_MS;
    const limit = new AbortController();
    const timer = clock.after(GIVE_UP_AFTER_MS, () => limit.abort());
    let mayHaveArrived = false;
    for (let attempt = 1; ; attempt++) {
      try {
        const request = { body, auth: false, signal: limit.signal };
        await caller.post(Routes.interactionCallback(payload.id, payload.token), request);
        timer.cancel();
        return;
      } catch (error) {
        mayHaveArrived ||= mayHaveTakenEffect(error);
        const isSettled = error instanceof Refusal && SETTLED_CODES.has(error.code);
        const pauseMs = nextTryMs(error, attempt);
        if (!isSettled && attempt < MAX_TRIES && clock.now() + pauseMs < until) {
          await wait(clock, pauseMs);
          continue;
        }
        const facts = { interaction: payload.id, error: describeFailure(error) };
        if (isSettled && (isReplayed || error.code === 40060))
          logger.debug(facts, "an interaction was acknowledged before");
        else if (mayHaveArrived)
          logger.warn(
            facts,
            `it is not known whether an interaction was acknowledged; if it was not, ${consequenceOf(body)}`,
          );
        else logger.warn(facts, `an interaction could not be acknowledged; ${consequenceOf(body)}`);
        timer.cancel();
        return;
      }
    }
  }
}

/** The request may have arrived, and only its answer is lost. */
function mayHaveTakenEffect(error: unknown): boolean {
  if (error instanceof Refusal || error instanceof Limited || error instanceof InvalidRequestPause) return false;
  return !(error instanceof ExchangeError) || error.isWritten;
}

function nextTryMs(error: unknown, attempt: number): number {
  if (error instanceof Limited) return Math.max(TRY_AGAIN_MS, error.afterMs);
  if (error instanceof InvalidRequestPause) return error.afterMs;
  return doubledMs({ firstMs: TRY_AGAIN_MS, maxMs: TRY_WITHIN_MS }, attempt);
}

function consequenceOf({ type }: Callback): string {
  switch (type) {
    case CallbackType.defer:
    case CallbackType.deferUpdate:
      return "its answer becomes an ordinary message";
    case CallbackType.modal:
      return "no form opens, and Discord shows the person that the interaction failed";
    case CallbackType.choices:
      return "no choices are shown";
  }
}

function callbackBody(acknowledge: Acknowledgement): Callback | undefined {
  switch (acknowledge.kind) {
    case "defer":
      return { type: CallbackType.defer, data: acknowledge.isPrivate ? { flags: EPHEMERAL } : {} };
    case "defer-update":
      return { type: CallbackType.deferUpdate };
    case "form":
      return { type: CallbackType.modal, data: modalBody(acknowledge.form, acknowledge.token) };
    case "notice":
    case "none":
      return undefined;
  }
}

function shownChoices(choices: readonly Choice[]): Choice[] {
  return choices
    .filter(({ name, value }) => name !== "" && value.length <= MAX_CHOICE_LENGTH)
    .slice(0, MAX_CHOICES)
    .map(({ name, value }) => ({ name: name.slice(0, MAX_CHOICE_LENGTH), value }));
}

const ROW = 1;
const TEXT_INPUT = 4;
const MAX_VALUE = 4000;

/** A form as Discord's modal. https://discord.com/developers/docs/components/reference#text-input */
function modalBody(form: Form, token: string): object {
  return {
    custom_id: token,
    title: form.title,
    components: form.fields.map((field) => ({
      type: ROW,
      components: [
        {
          type: TEXT_INPUT,
          custom_id: field.id,
          label: field.label,
          style: field.long ? 2 : 1,
          required: field.required ?? false,
          value: field.value?.slice(0, MAX_VALUE),
        },
      ],
    })),
  };
}
