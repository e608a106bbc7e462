/** Reads the Retry-After header of an HTTP answer: seconds, or a date. https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3 */

/** Milliseconds from `now`, never negative; undefined when the header is absent or cannot be read. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim();
  if (!text) return undefined;
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  const at = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** Answers after which the same request may be taken a moment later: Request Timeout, Too Early, Too Many Requests, and all errors of the other side. */
export const isTransientStatus = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || status >= 500;
