/** Whom a step of an escalation notifies, and where. */
import { formatAddress } from "../domain/address.js";
import type { Alerting } from "./alerting.js";
import type { RouteConfig } from "./config.js";
import { accountsOf, type Mentioned } from "./people.js";
import { nextOnCall } from "./shifts.js";
import { fallbacks } from "./steps/route.js";
import { groupBy } from "./tell/group-by.js";

export type Step = RouteConfig["escalate"][number];

export interface Reach {
  /** Where the settings say that it is posted. */
  posted: string[];
  /** A message there notifies one of its people. */
  isCalled: boolean;
  /** Private chats of those whom no message there notifies. */
  direct: { destination: string; name: string }[];
  /** The fallback, when none of its people is notified by those. */
  elsewhere: readonly string[];
  /** It mentions people, and no message of it notifies one of them. (Who stands in for them is not one of them.) */
  isUnreached: boolean;
}

export type Around = Pick<Alerting, "config" | "admins" | "direct" | "personOf">;

export function reachOf(
  step: Step,
  there: readonly string[],
  { config, admins, direct: directTo, personOf }: Around,
  now: number,
): Reach {
  const mentioned = accountsOf(step.mention, config, now);
  const posted = [...(step.to.length > 0 ? step.to : there), ...(step.webhook === undefined ? [] : [step.webhook])];
  const isAt = (places: readonly string[], accounts: readonly Mentioned[]) =>
    places.some((destination) => isReached(destination, accounts, personOf));
  const isCalled = isAt(posted, mentioned);
  const uncalled = groupBy(mentioned, ({ name }) => name).filter((accounts) => !isAt(posted, accounts));
  const direct = uncalled.flat().flatMap(({ ref, name }) => {
    const destination = directTo(ref);
    return destination === undefined || posted.includes(destination) ? [] : [{ destination, name }];
  });
  const isSilent = step.mention.length > 0 && !isCalled && direct.length === 0;
  const elsewhere = isSilent ? fallbacks(config, () => admins().map(formatAddress), posted) : [];
  return { posted, isCalled, direct, elsewhere, isUnreached: isSilent && !isAt(elsewhere, mentioned) };
}

/** Whether a message there notifies one of them. A webhook decides by itself. */
export function isReached(
  destination: string,
  mentioned: readonly Mentioned[],
  personOf: Alerting["personOf"],
): boolean {
  const platform = destination.split(":")[0];
  const person = personOf(destination);
  if (person !== undefined) return mentioned.some(({ ref }) => ref === "everyone" || ref === person);
  return (
    /^https?:\/\//.test(destination) ||
    mentioned.some(({ ref }) => ref === "everyone" || ref.startsWith(`${platform}:`))
  );
}

const MAX_TURNS_AHEAD = 10;

/** Who comes next on a rota and has an account where a step is posted. */
export function standInAt(
  destination: string,
  name: string,
  { config, personOf }: Pick<Around, "config" | "personOf">,
  now: number,
): Mentioned[] {
  const rota = config.rotas[name];
  let at = now;
  for (let turn = 0; rota && turn < MAX_TURNS_AHEAD; turn++) {
    const next = nextOnCall(rota, at);
    if (next === undefined) return [];
    const accounts = accountsOf([next.person], config, now);
    if (isReached(destination, accounts, personOf)) return accounts;
    at = next.at;
  }
  return [];
}
