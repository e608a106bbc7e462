/** Whom one message of an escalation step mentions, and what it says of those whom it does not notify. True per chat: people have accounts on some platforms only. */
import type { Alerting } from "../alerting.js";
import { accountsOf, type Mentioned, named, onCall } from "../people.js";
import { isReached, type Reach, type Step, standInAt } from "../reach.js";
import { shownAs } from "../tell/shown-as.js";

export interface Call {
  mentioned: Mentioned[];
  sentences: string[];
  /** A person who is not on call is mentioned, here or in another chat. */
  hasStandIn: boolean;
}

export function callAt(destination: string, step: Step, reach: Reach, alerting: Alerting, now: number): Call {
  const isCalled = isReached(destination, accountsOf(step.mention, alerting.config, now), alerting.personOf);
  const calls = step.mention.map((one) => callOne(one, destination, { reach, isCalled }, alerting, now));
  return {
    mentioned: named(
      calls.flatMap(({ mentioned }) => mentioned),
      alerting,
    ),
    sentences: [...new Set(calls.flatMap(({ sentences }) => sentences))],
    hasStandIn: calls.some(({ hasStandIn }) => hasStandIn),
  };
}

export function namesOf(accounts: readonly Mentioned[], alerting: Pick<Alerting, "nameOf">): string {
  return [...new Set(named(accounts, alerting).map(({ name }) => name))].join(", ");
}

/** Why no account of it can be mentioned anywhere: no person is on call, or the person has none. */
export function missingOf(one: string, { config }: Alerting, now: number): string | undefined {
  if (accountsOf([one], config, now).length > 0) return undefined;
  const name = rotaOf(one);
  const rota = name === undefined ? undefined : config.rotas[name];
  const person = rota ? onCall(rota, now) : one;
  return person === undefined
    ? `The rota ${name} has no one on call now`
    : `${person} has no account in \`alerts.people\``;
}

const rotaOf = (mention: string) => (mention.startsWith("oncall:") ? mention.slice("oncall:".length) : undefined);

function callOne(
  one: string,
  destination: string,
  { reach, isCalled }: { reach: Reach; isCalled: boolean },
  alerting: Alerting,
  now: number,
): Call {
  const { config, personOf, placeName } = alerting;
  const accounts = accountsOf([one], config, now);
  if (accounts.length > 0 && isReached(destination, accounts, personOf))
    return { mentioned: accounts, sentences: [], hasStandIn: false };
  const missing = missingOf(one, alerting, now);
  const rota = rotaOf(one);
  const isGap = missing !== undefined && rota !== undefined;
  const standIn = (place: string) => (rota === undefined || isHook(place) ? [] : standInAt(place, rota, alerting, now));
  const instead = isGap || !isCalled ? standIn(destination) : [];
  const other = isGap && instead.length === 0 ? placesOf(reach).find((place) => standIn(place).length > 0) : undefined;
  const why = missing ?? whyNot(accounts, destination, reach, alerting);
  const next = namesOf(other === undefined ? instead : standIn(other), alerting);
  const where = other === undefined ? "instead" : `in ${shownAs(other, placeName)} instead`;
  const sentence = next === "" ? why : `${why}; ${next} is next and is mentioned ${where}`;
  // Accounts of other platforms too: the fallback may be there.
  return { mentioned: [...accounts, ...instead], sentences: [sentence], hasStandIn: next !== "" };
}

const isHook = (destination: string) => /^https?:/.test(destination);
const placesOf = ({ posted, elsewhere }: Reach) => [...posted, ...elsewhere];

/** The person has no account on the platform of this chat; how else the step notifies them. */
function whyNot(accounts: readonly Mentioned[], destination: string, reach: Reach, alerting: Alerting): string {
  const { personOf, placeName } = alerting;
  const [platform] = destination.split(":");
  const isTheirs = accounts.some(({ ref }) => ref.startsWith(`${platform}:`));
  const why = `${namesOf(accounts, alerting)} ${isTheirs ? "is not in this private chat" : `has no ${platform} account`}`;
  if (reach.direct.some(({ name }) => accounts.some((one) => one.name === name)))
    return `${why} and is notified in a private chat`;
  const other = placesOf(reach).find((place) => !isHook(place) && isReached(place, accounts, personOf));
  return other === undefined ? why : `${why} and is mentioned in ${shownAs(other, placeName)}`;
}
