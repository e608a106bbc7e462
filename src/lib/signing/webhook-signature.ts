/**
 * Standard Webhooks signatures, made and checked.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md By Node's own HMAC: the specification's
 * library computes in JavaScript, ten times as long, and every client that may call us may make us compute. The tests hold this against
 * that library. Times are given, so that the caller decides on "now".
 */
import { createHmac } from "node:crypto";
import { errorMessage } from "../errors.js";
import { sameSecret } from "./secret.js";

export interface Signable {
  id: string;
  /** Milliseconds since the epoch; whole seconds are signed. */
  at: number;
  body: string;
}

const PREFIX = "whsec_";

/** `whsec_` and base64, or any other text for its bytes. Throws when it cannot be a key. */
export function signingKey(secret: string): Buffer {
  if (secret === "") throw new Error("it is empty");
  if (!secret.startsWith(PREFIX)) return Buffer.from(secret);
  const text = secret.slice(PREFIX.length);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) throw new Error("what follows whsec_ is no base64");
  return Buffer.from(text, "base64");
}

/** Why the secret cannot sign, without revealing any part of it; undefined when it can. */
export function whyNoKey(secret: string): string | undefined {
  try {
    signingKey(secret);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/** The value of webhook-signature: one signature a secret, so that the receiver may know either while it is changed. */
export function sign(what: Signable, secrets: readonly string[]): string {
  return secrets.map((secret) => signatureOf(what, secret)).join(" ");
}

/** True when one of the signatures in the header was made with one of the secrets. */
export function isSignedBy(what: Signable, header: string, secrets: readonly string[]): boolean {
  const expected = secrets.map((secret) => signatureOf(what, secret));
  const given = header.split(" ").filter((part) => part.startsWith("v1,"));
  // All pairs are compared, so that the time taken reveals nothing.
  return given.flatMap((one) => expected.map((other) => sameSecret(one, other))).some(Boolean);
}

function signatureOf({ id, at, body }: Signable, secret: string): string {
  const signed = createHmac("sha256", signingKey(secret))
    .update(`${id}.${Math.floor(at / 1000)}.`)
    .update(body);
  return `v1,${signed.digest("base64")}`;
}
