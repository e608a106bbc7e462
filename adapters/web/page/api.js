/** Requests to the server. Every failure is an `ApiError` that shows whether the same request may work later. */

export class ApiError extends Error {
  /** @param {{ status: number, code: string, message: string, hint?: string, retryAfterMs?: number }} facts */
  constructor({ status, code, message, hint, retryAfterMs }) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
    /** How long the server asked to wait; undefined when it did not. */
    this.retryAfterMs = retryAfterMs;
  }

  /** Not reached, or the server asked for patience. */
  get isPassing() {
    return (
      this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504
    );
  }

  /** Refused for its content or its address: the same request is refused again. A full quota empties with time. */
  get isFinal() {
    return [400, 404, 413, 415].includes(this.status) && this.code !== "QUOTA";
  }

  get isLoggedOut() {
    return this.status === 401;
  }
}

const TIMEOUT_MS = 30_000;
const PAGE_KEY = "hookgate:page";

/** Goes with the login's cookie, which browsers send to other ports of this host as well. Storage is of this origin alone. */
let pageKey = stored();

function stored() {
  try {
    return localStorage.getItem(PAGE_KEY) ?? "";
  } catch {
    return "";
  }
}

/** Logs in by a token; throws an ApiError. */
export async function login(body) {
  const answer = await request("POST", "/api/login", body);
  pageKey = answer.pageKey;
  try {
    localStorage.setItem(PAGE_KEY, pageKey);
  } catch {
    // This page goes on; the next one asks for the token again.
  }
}

/** For requests that the browser makes by itself: pictures, live changes. */
export function withPageKey(path) {
  if (!path.startsWith("/api/")) return path;
  // Another page of this browser may have logged in again.
  return `${path}${path.includes("?") ? "&" : "?"}page=${encodeURIComponent(stored() || pageKey)}`;
}

export async function request(method, path, body) {
  const isFile = body instanceof Blob;
  const headers = { "x-hookgate-page": stored() || pageKey };
  if (body !== undefined)
    headers["content-type"] = isFile ? body.type || "application/octet-stream" : "application/json";
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined || isFile ? body : JSON.stringify(body),
      // A file may take as long as it takes.
      signal: isFile ? undefined : AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch {
    throw new ApiError({ status: 0, code: "OFFLINE", message: "Hookgate cannot be reached at the moment" });
  }
  const answer = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer;
  const error = answer?.error ?? { code: "UNKNOWN", message: `the server answered ${response.status}` };
  const retryAfterMs = Number(response.headers.get("retry-after")) * 1000 || undefined;
  throw new ApiError({ status: response.status, retryAfterMs, ...error });
}

/** Chosen once per message or action, so that sending it again after a lost answer has one effect. */
export function newNonce() {
  const bytes = crypto.getRandomValues(new Uint8Array(15));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}
