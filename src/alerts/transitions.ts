/** The states of an alert, and all ways between them. Every change of an alert goes through this table. */
import type { Alert, AlertState } from "../domain/alerts/alert.js";

/** Back to what it was: acknowledged or snoozed, if that still holds, else what its source says. */
const BACK = "back";

type To = Partial<Record<AlertState, AlertState | typeof BACK>>;

/** What is not in here changes nothing: the same again, or too late. */
export const TRANSITIONS = {
  /** From warned to broken; a person who acknowledged the warning is asked again. */
  fire: { warned: "firing", acked: "firing" },
  /** A person had resolved the warning, or its source was silent for long, and now it broke. */
  reopen: { resolved: "firing", expired: "firing" },
  /** The policy that it ended with is back. */
  resume: { resolved: BACK },
  resolve: {
    warned: "resolved",
    firing: "resolved",
    acked: "resolved",
    snoozed: "resolved",
    silenced: "resolved",
    inhibited: "resolved",
  },
  ack: { warned: "acked", firing: "acked", snoozed: "acked", silenced: "acked", inhibited: "acked" },
  /** The time for which it was acknowledged is over. */
  lapse: { acked: BACK },
  /** Also of what is quiet for another reason, which is looked at again afterwards. */
  snooze: {
    warned: "snoozed",
    firing: "snoozed",
    acked: "snoozed",
    snoozed: "snoozed",
    silenced: "snoozed",
    inhibited: "snoozed",
  },
  wake: { snoozed: BACK, silenced: BACK, inhibited: BACK },
  silence: { warned: "silenced", firing: "silenced", inhibited: "silenced", snoozed: "silenced" },
  unsilence: { silenced: BACK },
  inhibit: { warned: "inhibited", firing: "inhibited" },
  release: { inhibited: BACK },
  expire: {
    warned: "expired",
    firing: "expired",
    acked: "expired",
    snoozed: "expired",
    silenced: "expired",
    inhibited: "expired",
  },
} satisfies Record<string, To>;
export type Happening = keyof typeof TRANSITIONS;

/** The state that follows; undefined when it changes nothing. */
export function stateAfter(alert: Alert, happening: Happening): AlertState | undefined {
  const table: To = TRANSITIONS[happening];
  const next = table[alert.state];
  if (next !== BACK) return next;
  return alert.ack ? "acked" : alert.snooze ? "snoozed" : alert.condition;
}
