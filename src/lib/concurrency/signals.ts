/** Several signals as one, for as long as something runs. (`AbortSignal.any` leaves something behind on signals that live long.) */

export interface JoinedSignal {
  signal: AbortSignal;
  /** To be called when it is not needed any more. */
  release(): void;
}

export function joinSignals(...given: (AbortSignal | undefined)[]): JoinedSignal {
  const joined = new AbortController();
  const sources = given.filter((signal) => signal !== undefined);
  const onAbort = (event: Event) => end(event.target as AbortSignal);
  const release = () => {
    for (const source of sources) source.removeEventListener("abort", onAbort);
  };
  const end = (source: AbortSignal) => {
    release();
    joined.abort(source.reason);
  };
  const over = sources.find(({ aborted }) => aborted);
  if (over !== undefined) joined.abort(over.reason);
  else for (const source of sources) source.addEventListener("abort", onAbort, { once: true });
  return { signal: joined.signal, release };
}
