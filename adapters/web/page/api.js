/** Requests to the server. Every failure is an `ApiError` that says whether the same request may work later. */

export class ApiError extends Error {
  constructor({ status, code, message, hint }) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }

  /** Not reached, or the server asked for patience. */
  get isPassing() {
    return (
      this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504
    );
  }

  get isLoggedOut() {
    return this.status === 401;
  }
}

const TIMEOUT_MS = 30_000;

export async function request(method, path, body) {
  const isFile = body instanceof Blob;
  const headers =
    body === undefined ? {} : { "content-type": isFile ? body.type || "application/octet-stream" : "application/json" };
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined || isFile ? body : JSON.stringify(body),
      // A file may take as long as it takes.
      ...(isFile ? {} : { signal: AbortSignal.timeout(TIMEOUT_MS) }),
    });
  } catch {
    throw new ApiError({ status: 0, code: "OFFLINE", message: "Hookgate cannot be reached at the moment" });
  }
  const answer = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer;
  const error = answer?.error ?? { code: "UNKNOWN", message: `the server answered ${response.status}` };
  throw new ApiError({ status: response.status, ...error });
}

/** Chosen once per thing said, so that saying it again after a lost answer says it once. */
export function newNonce() {
  const bytes = crypto.getRandomValues(new Uint8Array(15));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}
