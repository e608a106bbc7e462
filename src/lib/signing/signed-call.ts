/**
 * Calls of the command line: signed with the token, which itself is never sent, and answered with a proof that the other side has the
 * token too. A program that only holds the port learns nothing that it can use, and nothing that it answers is believed.
 */
import { createHash, createHmac } from "node:crypto";
import { sameSecret } from "./secret.js";

export const PROOF_HEADER = "hookgate-proof";
/** How far the clocks of both sides may differ. Within it a nonce is accepted once. */
export const SIGNATURE_LIFE_MS = 30_000;

export interface SignedCall {
  /** Epoch milliseconds. */
  at: number;
  nonce: string;
  /** SHA-256 of the JSON body, base64url. */
  bodyHash: string;
  signature: string;
}

export interface CallHead {
  method: string;
  /** With the query. */
  path: string;
}

const SCHEME = /^Hookgate-Signed (\d{1,15})\.([\w-]{20,64})\.([\w-]{43})\.([\w-]{43})$/;

/** The Authorization header of a call. `body` is the JSON text that is sent. */
export function signCall(
  token: string,
  head: CallHead,
  body: string,
  { at, nonce }: { at: number; nonce: string },
): string {
  const bodyHash = hashOfBody(body);
  return `Hookgate-Signed ${at}.${nonce}.${bodyHash}.${signatureOf(token, head, { at, nonce, bodyHash })}`;
}

/** Undefined when the header is no signed call. */
export function readSignedCall(authorization: string | undefined): SignedCall | undefined {
  const [, at, nonce, bodyHash, signature] = SCHEME.exec(authorization ?? "") ?? [];
  if (at === undefined || nonce === undefined || bodyHash === undefined || signature === undefined) return undefined;
  return { at: Number(at), nonce, bodyHash, signature };
}

export function isSignedWith(token: string, head: CallHead, call: SignedCall): boolean {
  return sameSecret(call.signature, signatureOf(token, head, call));
}

export function hashOfBody(body: string): string {
  return createHash("sha256").update(body).digest("base64url");
}

/** The value of `PROOF_HEADER` in the answer to the call with this nonce. */
export function proofOf(token: string, nonce: string, { status, body }: { status: number; body: string }): string {
  return mac(token, ["answer", nonce, status, hashOfBody(body)]);
}

function signatureOf(token: string, { method, path }: CallHead, call: Omit<SignedCall, "signature">): string {
  return mac(token, ["call", call.at, call.nonce, method, path, call.bodyHash]);
}

function mac(token: string, parts: readonly (string | number)[]): string {
  return createHmac("sha256", token).update(JSON.stringify(parts)).digest("base64url");
}
