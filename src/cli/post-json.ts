/** Makes one POST over node's own http: `fetch` refuses some ports (6000, 6667, …) that a gateway may well listen on. */
import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { sameSecret } from "../lib/signing/secret.js";
import { PROOF_HEADER, proofOf, signCall } from "../lib/signing/signed-call.js";

export interface JsonAnswer {
  status: number;
  /** Undefined when it is no JSON. */
  body: unknown;
  /** The server that answered has the token. Never true without a token. */
  isProven: boolean;
}

/**
 * Signs the call with the token and does not send the token itself. Rejects with node's error when nothing listens, with a TimeoutError
 * when it takes longer than `timeoutMs`.
 */
export function postJson(
  url: string,
  body: unknown,
  { token, timeoutMs }: { token: string | undefined; timeoutMs: number },
): Promise<JsonAnswer> {
  const text = JSON.stringify(body);
  const nonce = randomBytes(18).toString("base64url");
  const head = { method: "POST", path: new URL(url).pathname };
  const authorization = token === undefined ? undefined : signCall(token, head, text, { at: Date.now(), nonce });
  return new Promise((resolve, reject) => {
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (authorization !== undefined) headers.authorization = authorization;
    const call = request(url, { method: "POST", headers, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => void chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const answer = { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") };
        const given = response.headers[PROOF_HEADER];
        const isProven =
          token !== undefined && typeof given === "string" && sameSecret(given, proofOf(token, nonce, answer));
        resolve({ status: answer.status, body: parsed(answer.body), isProven });
      });
    });
    call.on("error", (error) => reject(error.name === "AbortError" && error.cause ? error.cause : error));
    call.end(text);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the status and the schema that reads the body show it
  }
}
