/** Which hooks are being fired by hand right now: a hook that has not ended is not fired a second time. */

export interface Flight {
  runId: string;
  since: number;
}

/** The composer of the commands owns it; it lives as long as the process, like the runs themselves. */
export class HooksInFlight {
  #flights = new Map<string, Flight>();

  /** The run of the first of these hooks that is under way. */
  find(hookIds: readonly string[]): (Flight & { hookId: string }) | undefined {
    for (const hookId of hookIds) {
      const flight = this.#flights.get(hookId);
      if (flight) return { hookId, ...flight };
    }
    return undefined;
  }

  /** Marks the hooks as under way; the returned function marks one hook, or the rest of them, as ended. */
  add(hookIds: readonly string[], flight: Flight): (hookId?: string) => void {
    for (const hookId of hookIds) this.#flights.set(hookId, flight);
    return (ended) => {
      for (const hookId of ended === undefined ? hookIds : [ended])
        if (this.#flights.get(hookId) === flight) this.#flights.delete(hookId);
    };
  }
}
