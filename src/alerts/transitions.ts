/** The states of an alert, and all transitions between them. Every change of an alert goes through this table. */
import type { Alert, AlertState } from "../domain/alerts/alert.js";

/** Back to the state before: acknowledged or snoozed, if that still holds, else the state of its source. */
const BACK = "back";

type To = Partial<Record<AlertState, AlertState | typeof BACK>>;

/** A transition that is not listed here changes nothing: it is a repetition, or too late. */
export const TRANSITIONS = {
  /** From warned to broken; a person who acknowledged the warning is asked again. */
  fire: { warned: "firing", acked: "firing" },
  /** A person had resolved the warning, or its source was silent for long, and now it broke. */
  reopen: { resolved: "firing", expired: "firing" },
  /** The policy with which the alert ended is back. */
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
  /** The time of the acknowledgement has ended. */
  lapse: { acked: BACK },
  /** Also of an alert that is quiet for another reason, which is looked at again afterwards. */
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

/** The next state; undefined when nothing changes. */
export function stateAfter(alert: Alert, happening: Happening): AlertState | undefined {
  const table: To = TRANSITIONS[happening];
  const next = table[alert.state];
  if (next !== BACK) return next;
  return alert.ack ? "acked" : alert.snooze ? "snoozed" : alert.condition;
}
