/** The mentions in the messages of an escalation step, and the text about people who are not notified there. */
import type { Alerting } from "../alerting.js";
import { accountsOf, type Mentioned, named, onCall, rotaOf } from "../rota/people.js";
import { type Around, calls, isReached, isReachedNow, placesFor, type Reach, type Step } from "../rota/reach.js";
import { isWebhook, shownAs } from "../tell/shown-as.js";

type Calling = Around & Pick<Alerting, "nameOf" | "placeName">;

/** Accounts of every platform: a message that does not arrive is posted at the fallback with the same mentions. */
export function mentionedBy(step: Step, { standIns }: Reach, alerting: Alerting, now: number): Mentioned[] {
  const stepping = standIns.flatMap(({ accounts }) => accounts);
  return named([...accountsOf(step.mention, alerting.config, now), ...stepping], alerting);
}

/**
 * The people whom the page of a chat that takes no alerts may mention when it is posted later. Not people whom a page in doubt may have
 * notified.
 */
export function mentionedAt(
  destination: string,
  mentioned: readonly Mentioned[],
  alerting: Around,
): readonly Mentioned[] {
  const { inhibitors, inDoubtAt = [] } = alerting;
  if (!inhibitors.takesNone(destination)) return mentioned;
  return mentioned.filter(({ name }) => {
    const accounts = mentioned.filter((one) => one.name === name);
    return !inDoubtAt.some((one) => calls(one, accounts, alerting));
  });
}

/** The sentences of a message in this chat. Undefined: no chat, as in the history and for a webhook. */
export function sentencesFor(
  at: string | undefined,
  step: Step,
  reach: Reach,
  alerting: Calling,
  now: number,
): string[] {
  const chat = at === undefined || isWebhook(at) ? undefined : at;
  const sentences = step.mention.flatMap((one) => sentenceOf(one, chat, reach, alerting, now) ?? []);
  return [...new Set([...resultOf(reach, alerting), ...sentences, ...whereOf(chat, reach, alerting)])];
}

export function namesOf(accounts: readonly Mentioned[], alerting: Pick<Alerting, "nameOf">): string {
  return [...new Set(named(accounts, alerting).map(({ name }) => name))].join(", ");
}

/** The sentence of a page's copy about a person whom no copy notifies, or only one in a private chat. */
export function uncalledText(
  accounts: readonly Mentioned[],
  chat: string,
  isDirect: boolean,
  alerting: Calling,
  now: number,
): string {
  const why = whyNotIn(accounts, chat, [chat], alerting, refusedChat(accounts, alerting, now));
  return `${why} and ${isDirect ? "is notified in a private chat" : NOT_NOW}`;
}

/** Why no account of this mention can be mentioned anywhere: no person is on call, or the person has no account. */
export function missingOf(one: string, { config, nameOf }: Pick<Alerting, "config" | "nameOf">, now: number) {
  if (accountsOf([one], config, now).length > 0) return undefined;
  const name = rotaOf(one);
  const rota = name === undefined ? undefined : config.rotas[name];
  const person = rota ? onCall(rota, now) : one;
  return person === undefined
    ? `No one is on call in ${name}`
    : `${nameOf(person)} has no account in \`alerts.people\``;
}

/** People among these whose private chats all refuse alerts: they have blocked the bot, or never wrote to it. */
export function refusedOf(mention: readonly string[], alerting: Calling, now: number): string | undefined {
  const accounts = accountsOf(mention, alerting.config, now);
  const refused = accounts.filter(({ name }) => {
    const chats = accounts.flatMap((one) => (one.name === name ? (alerting.direct(one.ref) ?? []) : []));
    return chats.length > 0 && chats.every(alerting.inhibitors.takesNone);
  });
  return refused.length === 0 ? undefined : namesOf(refused, alerting);
}

/** Why a step does not notify the person on call of this rota, for `/oncall who`. */
export function whyMissing(one: string, reach: Reach, alerting: Calling, now: number): string {
  const accounts = accountsOf([one], alerting.config, now);
  const why = missingOf(one, alerting, now) ?? whyNot(accounts, undefined, reach, alerting, now);
  return why.replace("where this alert is posted", "where these steps are posted");
}

function sentenceOf(
  one: string,
  chat: string | undefined,
  reach: Reach,
  alerting: Calling,
  now: number,
): string | undefined {
  const accounts = accountsOf([one], alerting.config, now);
  const places = placesFor(accounts, chat === undefined ? chatsOf(reach) : [chat], reach.elsewhere, alerting);
  if (places.some((place) => isReachedNow(place, accounts, alerting))) return undefined;
  const why = missingOf(one, alerting, now) ?? whyNot(accounts, chat, reach, alerting, now);
  const standIn = reach.standIns.find(({ rota }) => rota === rotaOf(one));
  if (standIn === undefined) return why;
  const name = namesOf(standIn.accounts, alerting);
  const how = standIn.isDirect ? "is notified in a private chat" : mentionedIn(standIn.accounts, chat, reach, alerting);
  return reach.missing.includes(one)
    ? `${why}; ${name} is the next person who can be notified, and ${how}`
    : `${why}; ${name} is on call after that and ${how} as well`;
}

const chatsOf = ({ posted, elsewhere }: Reach) => [...posted.filter((place) => !isWebhook(place)), ...elsewhere];

/** `is mentioned`, where that is another chat with its name. */
function mentionedIn(accounts: readonly Mentioned[], chat: string | undefined, reach: Reach, alerting: Calling) {
  const reached = placesFor(accounts, chatsOf(reach), reach.elsewhere, alerting).filter((place) =>
    isReachedNow(place, accounts, alerting),
  );
  const other = chat !== undefined && reached.includes(chat) ? undefined : reached[0];
  return other === undefined ? "is mentioned" : `is mentioned in ${shownAs(other, alerting.placeName)}`;
}

/** The person has no account on the platform of this chat, or the chat takes no alerts; how else the step notifies them. */
function whyNot(
  accounts: readonly Mentioned[],
  chat: string | undefined,
  reach: Reach,
  alerting: Calling,
  now: number,
): string {
  const chats = placesFor(accounts, chatsOf(reach), reach.elsewhere, alerting);
  const shared = chats.filter((place) => alerting.personOf(place) === undefined);
  // A later sentence reports the fate of the private message.
  const here = chat === undefined ? undefined : placesFor(accounts, [chat], reach.elsewhere, alerting);
  const places = here ?? (shared.length > 0 ? shared : chats);
  const why = whyNotIn(accounts, chat, places, alerting, refusedChat(accounts, alerting, now));
  if (reach.arriving.some(({ name }) => accounts.some((one) => one.name === name)))
    return `${why} and is notified in a private chat`;
  const isElsewhere = chats.some((place) => isReachedNow(place, accounts, alerting));
  return isElsewhere ? `${why} and ${mentionedIn(accounts, chat, reach, alerting)}` : why;
}

/** `besides`: why the private chat does not notify the person. */
function whyNotIn(
  accounts: readonly Mentioned[],
  chat: string | undefined,
  places: readonly string[],
  alerting: Calling,
  besides: string | undefined,
): string {
  const { personOf, placeName, readers, inDoubtAt } = alerting;
  const readersOf = (place: string) => accounts.filter(({ ref }) => !readers.cannotRead(place, ref));
  const refusing = places.find((place) => isReached(place, readersOf(place), personOf));
  const both = (why: string) => (besides === undefined ? why : `${why}; ${besides}`);
  // The page is read when the chat takes messages again, or at the fallback.
  if (refusing !== undefined && refusing === chat)
    return `${namesOf(accounts, alerting)}${NOT_IN}${shownAs(refusing, placeName)}${WHEN_DUE} (${both("it took no alerts")})`;
  if (refusing !== undefined && inDoubtAt?.includes(refusing))
    return `${namesOf(accounts, alerting)} may not be notified (${both(`the page in ${shownAs(refusing, placeName)} may not have arrived`)})`;
  if (refusing !== undefined)
    return `${namesOf(accounts, alerting)} cannot be notified in ${shownAs(refusing, placeName)} (${both("it takes no alerts now")})`;
  const alone = besides === undefined ? "" : ` (${besides})`;
  const unread = places.find((place) => isReached(place, accounts, personOf));
  if (unread !== undefined) return `${namesOf(accounts, alerting)} cannot read ${shownAs(unread, placeName)}${alone}`;
  const platform = chat?.split(":")[0];
  const isPrivate = chat !== undefined && personOf(chat) !== undefined;
  if (accounts.some(({ ref }) => ref === "everyone"))
    return `everyone cannot be mentioned ${isPrivate ? "in this private chat" : platform === undefined ? "where this alert is posted" : `on ${platform}`}`;
  const isTheirs = accounts.some(({ ref }) => ref.startsWith(`${platform}:`));
  const where = platform === undefined ? "has no account where this alert is posted" : `has no ${platform} account`;
  return `${namesOf(accounts, alerting)} ${isTheirs ? "is not in this private chat" : where}${alone}`;
}

/** Why the person's private chats take no alerts; undefined when there is none, or when one takes them. */
function refusedChat(
  accounts: readonly Mentioned[],
  { direct, inhibitors, inDoubtAt }: Calling,
  now: number,
): string | undefined {
  const chats = accounts.flatMap(({ ref }) => direct(ref) ?? []);
  if (chats.length === 0 || !chats.every(inhibitors.takesNone)) return undefined;
  if (chats.some((chat) => inDoubtAt?.includes(chat))) return "the page in the private chat may not have arrived";
  const isTried = chats.some((chat) => !inhibitors.isAway(chat) && inhibitors.refusalOf(chat, now) === undefined);
  return `the private chat takes no alerts now${isTried ? ", and is tried again" : ""}`;
}

/** The result is before the reasons, so that a text that is cut still has it. */
const resultOf = ({ isUnreached }: Reach, { inDoubtAt }: Calling) =>
  isUnreached ? [inDoubtAt === undefined ? UNNOTIFIED : UNCERTAIN] : [];

/** The other chats where people read the page. */
function whereOf(chat: string | undefined, { elsewhere, informed }: Reach, { placeName }: Calling): string[] {
  if (chat !== undefined && elsewhere.includes(chat)) return ["It is posted here as well"];
  const others = informed.filter((one) => one !== chat);
  return others.length === 0
    ? []
    : [`It is posted in ${[...new Set(others.map((one) => shownAs(one, placeName)))].join(", ")} as well`];
}

/** The sentence is true when it is written; a page that is posted later may notify them. */
export const UNNOTIFIED = "This step notifies none of its people";
const UNCERTAIN = "It is not certain that this step notified any of its people";

const NOT_IN = " could not be notified in ";
const WHEN_DUE = " when this step was due";
const NOT_NOW = "cannot be notified now";

/** Whether this sentence of a page reports that no message notified the person when it was written. */
export const couldNotBeNotified = (name: string, sentence: string) =>
  (sentence.startsWith(`${name}${NOT_IN}`) && sentence.includes(WHEN_DUE)) ||
  (sentence.startsWith(`${name} `) && sentence.endsWith(NOT_NOW));

/** The sentence in a message that is posted later than it was written. */
export const asOfWhenDue = (sentence: string) =>
  sentence.endsWith(NOT_NOW) ? sentence.replace(NOT_NOW, `could not be notified${WHEN_DUE}`) : sentence;

/** Whether the chat of this page took no alerts when the step was due. */
export const wasUnnotified = (sentences: readonly string[]) =>
  sentences.some((one) => one.includes(NOT_IN) && one.includes(WHEN_DUE));

/** For a page that is posted later, and mentions them. */
export const notifiedNow = (names: readonly string[]) =>
  `${names.join(", ")} could not be notified${WHEN_DUE}, and ${names.length === 1 ? "is" : "are"} notified now`;
