/**
 * Standard Webhooks signatures, made and checked. https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 * Times are given, so that whoever checks decides what "now" is.
 */
import { Webhook } from "standardwebhooks";
import { sameSecret } from "./secret.js";

export interface Signable {
  id: string;
  /** Milliseconds since the epoch; whole seconds are signed. */
  at: number;
  body: string;
}

/** `whsec_` and base64, or any other text for its bytes. Throws when it cannot be a key. */
export function signingKey(secret: string): Webhook {
  if (secret.startsWith("whsec_")) return new Webhook(secret);
  return new Webhook(Buffer.from(secret), { format: "raw" });
}

/** The value of webhook-signature: one signature a secret, so that the receiver may know either while it is changed. */
export function sign({ id, at, body }: Signable, secrets: readonly string[]): string {
  return secrets.map((secret) => signingKey(secret).sign(id, new Date(at), body)).join(" ");
}

/** True when one of the signatures in the header was made with one of the secrets. */
export function isSignedBy({ id, at, body }: Signable, header: string, secrets: readonly string[]): boolean {
  const expected = secrets.map((secret) => signingKey(secret).sign(id, new Date(at), body));
  const given = header.split(" ").filter((part) => part.startsWith("v1,"));
  // All pairs are compared, so that the time taken tells nothing.
  return given.flatMap((one) => expected.map((other) => sameSecret(one, other))).some(Boolean);
}
