/** The people whom a step of an escalation notifies, and where. All messages about the step are derived from this one result. */
import { formatAddress } from "../../domain/chat/address.js";
import { canMentionEveryone } from "../../domain/chat/platform.js";
import { groupBy } from "../../lib/group-by.js";
import type { Alerting } from "../alerting.js";
import type { RotaConfig, RouteConfig } from "../config.js";
import { fallbacks } from "../steps/route.js";
import { accountsOf, type Mentioned, ofRota, onCall, rotaOf } from "./people.js";
import { nextOnCall } from "./shifts.js";

export type Step = RouteConfig["escalate"][number];

export interface Reach {
  /** The places where the settings post the step: chats, and the webhook. */
  posted: string[];
  /** A message in one of those chats notifies one of the step's people, or a stand-in. */
  isCalled: boolean;
  /**
   * Private chats of people and stand-ins whom no message in those chats notifies; also one that takes no alerts now, but not for a while
   * after it refused one.
   */
  direct: { destination: string; name: string }[];
  /** The private chats in `direct` that take alerts. */
  arriving: { destination: string; name: string }[];
  /** The fallback, when no message in those chats notifies a person and the step has no webhook. */
  elsewhere: readonly string[];
  /** The chats in `elsewhere`, and when no person is notified also the fallback that has the alert already. */
  informed: readonly string[];
  /** People of a rota who are notified because the person on call is not mentioned in any chat. */
  standIns: StandIn[];
  /** Accounts of the people who are notified, stand-ins included. */
  notified: Mentioned[];
  /** Mentions of the step whose own people are not notified. */
  missing: string[];
  /** The step mentions people, and no message of it notifies one of them or a stand-in. */
  isUnreached: boolean;
}

export interface StandIn {
  rota: string;
  /** Never empty; all of one person. */
  accounts: Mentioned[];
  /** No message in a chat notifies this person: the private chat does. */
  isDirect: boolean;
}

export type Around = Pick<
  Alerting,
  "config" | "admins" | "direct" | "personOf" | "inhibitors" | "readers" | "inDoubtAt" | "lostAt"
>;

/**
 * Asks the platforms who of the people whom this step may notify can read its chats. `reachOf` goes by the last answers. False: one did not
 * answer.
 */
export async function askReaders(step: Step, there: readonly string[], around: Around): Promise<boolean> {
  const { config, admins, readers } = around;
  const chats = step.to.length > 0 ? step.to : there;
  const names = step.mention.flatMap((one) => {
    const rota = config.rotas[rotaOf(one) ?? ""];
    return rota === undefined ? [one] : peopleOf(rota);
  });
  const refs = accountsOf(names, { people: config.people, rotas: {} }, 0).map(({ ref }) => ref);
  const places = [...chats, ...fallbacks(config, () => admins().map(formatAddress), chats)];
  // The only reader of a private chat is known.
  const shared = places.filter((place) => around.personOf(place) === undefined);
  return readers.ask(shared, refs);
}

export function reachOf(step: Step, there: readonly string[], around: Around, now: number): Reach {
  const { config, admins, lostAt = [] } = around;
  const { webhook } = step;
  const chats = step.to.length > 0 ? step.to : [...there];
  const isAt = (places: readonly string[], accounts: readonly Mentioned[]) =>
    places.some((destination) => isReachedNow(destination, accounts, around));
  const mentioned = accountsOf(step.mention, config, now);
  const people = groupBy(mentioned, ({ name }) => name);
  const uncalled = people.filter((accounts) => !isAt(chats, accounts));
  const direct = uncalled.flatMap((accounts) => directTo(accounts, chats, around, now));
  const arrives = ({ destination }: Reach["direct"][number]) => !around.inhibitors.takesNone(destination);
  const isDirect = (accounts: readonly Mentioned[]) =>
    direct.filter(arrives).some((one) => accounts.some(({ name }) => name === one.name));
  const isCalledHimself = isAt(chats, mentioned);

  const near = rotasOf(step).flatMap((rota) => {
    const accounts = accountsOf([ofRota(rota)], config, now);
    if (isAt(chats, accounts) || (isDirect(accounts) && isCalledHimself)) return [];
    return standInAt(rota, { places: chats, mayBeDirect: !isDirect(accounts) }, around, now) ?? [];
  });
  direct.push(...near.flatMap((one) => (one.isDirect ? directTo(one.accounts, chats, around, now) : [])));
  const isCalled = isCalledHimself || near.some((one) => !one.isDirect);

  const isSilent = step.mention.length > 0 && webhook === undefined && !isCalled && !direct.some(arrives);
  const elsewhere = isSilent ? fallbacks(config, () => admins().map(formatAddress), [...chats, ...lostAt]) : [];
  const far = rotasOf(step).flatMap((rota) =>
    isAt(elsewhere, accountsOf([ofRota(rota)], config, now))
      ? []
      : (standInAt(rota, { places: elsewhere, mayBeDirect: false }, around, now) ?? []),
  );
  const standIns = [...near, ...far];
  const isNotified = (accounts: readonly Mentioned[]) =>
    isAt(placesFor(accounts, [...chats, ...elsewhere], elsewhere, around), accounts) || isDirect(accounts);
  const notified = [...people.filter(isNotified).flat(), ...standIns.flatMap(({ accounts }) => accounts)];
  const isUnreached = isSilent && notified.length === 0;
  const fallback = fallbacks(config, () => admins().map(formatAddress), lostAt);
  const known = chats.filter((chat) => fallback.includes(chat) && !around.inhibitors.takesNone(chat));
  // Not when the alert is posted there and nowhere else.
  const isKnown = isUnreached && known.length < chats.length;
  return {
    posted: webhook === undefined ? chats : [...chats, webhook],
    isCalled,
    direct,
    arriving: direct.filter(arrives),
    elsewhere,
    informed: isKnown ? [...elsewhere, ...known] : elsewhere,
    standIns,
    notified,
    missing: step.mention.filter((one) => !isNotified(accountsOf([one], config, now))),
    isUnreached,
  };
}

/** Places without those where a message certainly notifies none of these people, such as a private chat of another person. */
export function placesFor(
  accounts: readonly Mentioned[],
  places: readonly string[],
  elsewhere: readonly string[],
  { personOf }: Pick<Around, "personOf">,
): readonly string[] {
  if (accounts.every(({ ref }) => ref !== "everyone")) return places;
  return places.filter((place) => !elsewhere.includes(place) || personOf(place) === undefined);
}

/** Whether a message in this chat notifies one of them. */
export function isReached(
  destination: string,
  mentioned: readonly Mentioned[],
  personOf: Alerting["personOf"],
): boolean {
  const platform = destination.split(":")[0];
  const person = personOf(destination);
  if (person !== undefined) return mentioned.some(({ ref }) => ref === "everyone" || ref === person);
  return mentioned.some(({ ref }) =>
    ref === "everyone" ? canMentionEveryone(platform) : ref.startsWith(`${platform}:`),
  );
}

/** Also, those who cannot read the chat do not count: whether a message there notifies one of them when it arrives. */
export function calls(
  destination: string,
  mentioned: readonly Mentioned[],
  { personOf, readers }: Pick<Around, "personOf" | "readers">,
): boolean {
  const reading = mentioned.filter(({ ref }) => !readers.cannotRead(destination, ref));
  return isReached(destination, reading, personOf);
}

/** Also, no open alert reports that nothing arrives there. */
export function isReachedNow(
  destination: string,
  mentioned: readonly Mentioned[],
  around: Pick<Around, "personOf" | "inhibitors" | "readers">,
): boolean {
  return calls(destination, mentioned, around) && !around.inhibitors.takesNone(destination);
}

const rotasOf = ({ mention }: Step) => [...new Set(mention.flatMap((one) => rotaOf(one) ?? []))];

function directTo(
  accounts: readonly Mentioned[],
  without: readonly string[],
  { direct, inhibitors }: Around,
  now: number,
): Reach["direct"] {
  return accounts.flatMap(({ ref, name }) => {
    const destination = direct(ref);
    // A message that waits for a platform would be old news when the platform is back.
    if (destination === undefined || without.includes(destination) || inhibitors.isAway(destination)) return [];
    return inhibitors.refusalOf(destination, now) === undefined ? [{ destination, name }] : [];
  });
}

/** Everyone on a rota of this length has had a turn. */
const MAX_TURNS_AHEAD = 100;

/** The next person by time on a rota whom a message in these places notifies, or a private chat. */
function standInAt(
  name: string,
  { places, mayBeDirect }: { places: readonly string[]; mayBeDirect: boolean },
  around: Around,
  now: number,
): StandIn | undefined {
  const rota = around.config.rotas[name];
  if (rota === undefined || places.length === 0) return undefined;
  const found = (person: string): StandIn | undefined => {
    const accounts = accountsOf([person], around.config, now);
    if (places.some((place) => isReachedNow(place, accounts, around))) return { rota: name, accounts, isDirect: false };
    const chats = directTo(accounts, places, around, now);
    const isDirect = mayBeDirect && chats.some(({ destination }) => !around.inhibitors.takesNone(destination));
    return isDirect ? { rota: name, accounts, isDirect } : undefined;
  };
  const others = new Set(peopleOf(rota).filter((person) => found(person) !== undefined));
  others.delete(onCall(rota, now) ?? "");
  if (others.size === 0) return undefined;
  let at = now;
  for (let turn = 0; turn < MAX_TURNS_AHEAD; turn++) {
    const next = nextOnCall(rota, at);
    if (next === undefined) return undefined;
    if (others.has(next.person)) return found(next.person);
    at = next.at;
  }
  return undefined;
}

export const peopleOf = ({ shifts, rotate }: RotaConfig) => [
  ...new Set([...shifts.map(({ person }) => person), ...(rotate?.people ?? [])]),
];
