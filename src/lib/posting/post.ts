/** One POST and its whole answer, at undici's lowest level. */
import type { Dispatcher } from "undici";
import { codeOf, contentOf, describeError, headerOf } from "./answer.js";
import type { PostResult, PostTarget } from "./protocol.js";

/** Calls `done` once. `onConnect` comes just before the first byte is written. */
export function post(
  pool: Dispatcher,
  { headers, timeoutMs, readHeaders, readBody }: PostTarget,
  id: number,
  path: string,
  body: string,
  done: (result: PostResult) => void,
): void {
  let status = 0;
  let read: (string | null)[] = [];
  let isWritten = false;
  const chunks: Buffer[] = [];
  pool.dispatch(
    { path, method: "POST", headers, body, headersTimeout: timeoutMs, bodyTimeout: timeoutMs },
    {
      onConnect() {
        isWritten = true;
      },
      onHeaders(code, raw) {
        status = code; // informational ones (1xx) come before the answer itself
        read = readHeaders.map((name) => headerOf(raw, name));
        return true;
      },
      onData(chunk) {
        chunks.push(chunk);
        return true;
      },
      onComplete() {
        const whole = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
        done({ id, status, headers: read, ...contentOf(status, whole.toString("utf8"), readBody) });
      },
      onError(error) {
        done({ id, error: describeError(error), code: codeOf(error), isWritten });
      },
    },
  );
}
