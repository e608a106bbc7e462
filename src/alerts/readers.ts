/**
 * Which accounts a mention in a chat cannot notify because they cannot read it. Platforms are asked before an escalation chooses whom it
 * notifies.
 */
import { type Address, parseAddress } from "../domain/chat/address.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";

export interface Readers {
  /** Chats as formatted addresses, accounts as `platform:id`. False: a platform could not be asked. */
  ask(chats: readonly string[], refs: readonly string[]): Promise<boolean>;
  /** The platform's last answer was that this account cannot read the chat. */
  cannotRead(chat: string, ref: string): boolean;
}

export interface ReadersDeps {
  /** Undefined: the platform does not report it. Bounded in time; rejects when the platform cannot be asked. */
  isReader(at: Address, userId: string): Promise<boolean | undefined>;
  clock: Clock;
  logger: Logger;
}

/** An answer holds so long, so that escalations of many alerts at once ask once. */
const ANSWER_HOLDS_MS = 60_000;
/** A failure holds only so long: a platform that gave no answer may be back. */
const FAILURE_HOLDS_MS = 5_000;

export function createReaders({ isReader, clock, logger }: ReadersDeps): Readers {
  /** By chat and account; at most as many as the settings name. */
  const asked = new Map<string, { untilMs: number; answered: Promise<boolean> }>();
  const absent = new Set<string>();
  const keyOf = (chat: string, ref: string) => `${chat} ${ref}`;

  async function askOne(at: Address, userId: string, key: string): Promise<boolean> {
    try {
      const isThere = await isReader(at, userId);
      if (isThere === false) absent.add(key);
      else absent.delete(key);
      return true;
    } catch (error) {
      // The last known answer for this account stays; an account without an answer is mentioned.
      const one = asked.get(key);
      if (one !== undefined) one.untilMs = clock.monotonic() + FAILURE_HOLDS_MS;
      logger.warn({ user: userId, error: errorMessage(error) }, "whether a person can read a chat could not be asked");
      return false;
    }
  }

  return {
    cannotRead: (chat, ref) => absent.has(keyOf(chat, ref)),
    async ask(chats, refs) {
      const now = clock.monotonic();
      const answers: Promise<boolean>[] = [];
      for (const chat of new Set(chats)) {
        const at = parseAddress(chat);
        if (at === undefined) continue;
        for (const ref of new Set(refs)) {
          const [platform, userId, ...more] = ref.split(":");
          // Roles and `everyone` have no account.
          if (platform !== at.platform || !userId || more.length > 0) continue;
          const key = keyOf(chat, ref);
          let one = asked.get(key);
          if (one === undefined || now > one.untilMs) {
            one = { untilMs: now + ANSWER_HOLDS_MS, answered: askOne(at, userId, key) };
            asked.set(key, one);
          }
          answers.push(one.answered);
        }
      }
      return (await Promise.all(answers)).every((isAnswered) => isAnswered);
    },
  };
}
