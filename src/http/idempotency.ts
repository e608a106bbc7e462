/**
 * Remembers the request of each Idempotency-Key. Another request with the key of an earlier one is refused: it would be answered with
 * the object that the earlier one created (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/). The requests
 * themselves are not kept.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { KeyValueStore } from "../domain/store.js";
import { InTurnByKey } from "../lib/concurrency/in-turn.js";
import { HookgateError } from "../lib/errors.js";
import { jsonInOrder } from "../lib/json-in-order.js";
import type { Clock } from "../lib/time/clock.js";
import { errorAnswer } from "./errors.js";

export interface IdempotencyKeys {
  /**
   * Runs the request of a key; for one key, one request after the other. Rejects with IDEMPOTENCY_KEY_REUSED when it was used for
   * something else. After a request that was refused the key is free again.
   */
  once<T>(key: string, request: unknown, act: () => Promise<T>): Promise<T>;
  /** Forgets the keys from before that time; the signal stops it. */
  sweep(before: number, signal: AbortSignal): Promise<void>;
}

const SCOPE = "core:idempotency";
const stored = z.object({ hash: z.string(), at: z.number() });
/** Keys are in hex: each of these is the start of a share of them that can be looked at in one go. */
const SHARES = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, "0"));

export function createIdempotencyKeys(store: KeyValueStore, clock: Clock): IdempotencyKeys {
  const requests = new InTurnByKey<string>();

  async function actOnce<T>(key: string, request: unknown, act: () => Promise<T>): Promise<T> {
    const hash = createHash("sha256").update(jsonInOrder(request)).digest("base64url");
    const known = stored.safeParse(await store.get(SCOPE, key)).data;
    if (known !== undefined && known.hash !== hash) throw reused(known.at);
    // Before it is done: a crash between the two must not leave the key to another request.
    if (known === undefined) await store.set(SCOPE, key, { hash, at: clock.now() });
    try {
      return await act();
    } catch (error) {
      // A request that failed on our side may have created it all the same.
      if (known === undefined && errorAnswer(error).status < 500) await store.delete(SCOPE, key);
      throw error;
    }
  }

  return {
    once: (key, request, act) => requests.run(key, () => actOnce(key, request, act)),
    async sweep(before, signal) {
      for (const share of SHARES) {
        if (signal.aborted) return;
        for (const { key, value } of await store.list(SCOPE, share))
          if ((stored.safeParse(value).data?.at ?? 0) < before) await store.delete(SCOPE, key);
      }
    },
  };
}

function reused(at: number): HookgateError {
  return new HookgateError({
    code: "IDEMPOTENCY_KEY_REUSED",
    message: `The Idempotency-Key was used for another request at ${new Date(at).toISOString()}; nothing was created`,
    hint: "Send that request again for its answer, or this one with a key of its own.",
  });
}
