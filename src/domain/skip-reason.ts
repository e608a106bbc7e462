/**
 * The reason of a skipped run in rows, in the journal and for people: the gate or condition that skipped it, then why. `cooldown: 42 min
 * left of 1 h`.
 */

export interface SkipReason {
  /** The gate or condition: `cooldown`, `paused`, `skip_if`, … Empty: the text names none. */
  by: string;
  reason: string;
}

export const formatSkipReason = ({ by, reason }: SkipReason): string => `${by}: ${reason}`;

export function parseSkipReason(text = ""): SkipReason {
  const [, by, reason] = /^(\w+): (.*)$/s.exec(text) ?? [];
  return by === undefined || reason === undefined ? { by: "", reason: text } : { by, reason };
}
