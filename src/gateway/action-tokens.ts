/**
 * The tokens that buttons carry: short (Telegram takes 64 bytes), signed with this installation's key, kept in the store until
 * they expire. The signature lets a made-up token be refused without a look into the store.
 */
import { createHmac } from "node:crypto";
import type { ActionStore, ActionToken } from "../domain/store.js";
import { newToken } from "../lib/id.js";
import { sameSecret } from "../lib/signing/secret.js";

export type Presented =
  | { kind: "valid"; token: ActionToken }
  | { kind: "expired"; token?: ActionToken }
  | { kind: "forged" };

const SIGNATURE_BYTES = 12;

export class ActionTokens {
  readonly #store: ActionStore;
  readonly #key: string;

  constructor(store: ActionStore, key: string) {
    this.#store = store;
    this.#key = key;
  }

  /** 33 characters. */
  make(): string {
    const body = newToken(12);
    return `${body}.${this.#sign(body)}`;
  }

  /** True when this gateway made the token. The token may have expired. */
  isOurs(token: string): boolean {
    const [body = "", signature = "", ...rest] = token.split(".");
    return rest.length === 0 && sameSecret(signature, this.#sign(body));
  }

  async verify(token: string, now: number): Promise<Presented> {
    if (!this.isOurs(token)) return { kind: "forged" };
    const stored = await this.#store.get(token);
    if (stored && stored.expiresAt > now) return { kind: "valid", token: stored };
    return stored ? { kind: "expired", token: stored } : { kind: "expired" };
  }

  #sign(body: string): string {
    return createHmac("sha256", this.#key).update(body).digest().subarray(0, SIGNATURE_BYTES).toString("base64url");
  }
}
