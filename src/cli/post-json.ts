/** One POST over node's own http: `fetch` refuses some ports (6000, 6667, …) that a gateway may well listen on. */
import { request } from "node:http";

export interface JsonAnswer {
  status: number;
  /** Undefined when it is no JSON. */
  body: unknown;
}

/** Rejects with node's error when nobody answers, with a TimeoutError when it takes longer than `timeoutMs`. */
export function postJson(
  url: string,
  body: unknown,
  { token, timeoutMs }: { token: string | undefined; timeoutMs: number },
): Promise<JsonAnswer> {
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const call = request(url, { method: "POST", headers, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => void chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body: parsed(Buffer.concat(chunks).toString("utf8")) }),
      );
    });
    call.on("error", (error) => reject(error.name === "AbortError" && error.cause ? error.cause : error));
    call.end(JSON.stringify(body));
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // told by the status and by the schema that reads the body
  }
}
