/** Names of people and rotas, resolved to accounts on platforms. */
import { localTimezone } from "../../lib/time/timezone.js";
import type { AlertsConfig, RotaConfig } from "../config.js";
import { isWithin } from "../quiet-until.js";
import { turnAt } from "./turns.js";

/** In front of the name of a rota, where people are named. */
const ONCALL = "oncall:";

export const ofRota = (rota: string) => `${ONCALL}${rota}`;

/** The rota that a mention names. */
export const rotaOf = (mention: string) => (mention.startsWith(ONCALL) ? mention.slice(ONCALL.length) : undefined);

/** The person on call; undefined in a gap of the rota. */
export function onCall(rota: RotaConfig, now: number): string | undefined {
  const timezone = rota.timezone ?? localTimezone();
  for (const { days, from, to, person } of rota.shifts) if (isWithin({ days, from, to }, timezone, now)) return person;
  const turn = turnAt(rota, now);
  const people = rota.rotate?.people ?? [];
  return turn === undefined ? undefined : people[turn % people.length];
}

/** The name of the person with this account; undefined when the configuration names none. */
export function knownAs(ref: string, { people }: Pick<AlertsConfig, "people">): string | undefined {
  return Object.entries(people).find(([, accounts]) => accounts.includes(ref))?.[0];
}

/** All accounts of the person with this one, this one first. */
export function accountsWith(ref: string, { people }: Pick<AlertsConfig, "people">): string[] {
  const own = Object.values(people).filter((accounts) => accounts.includes(ref));
  return [...new Set([ref, ...own.flat()])];
}

/** `platform:id`, `platform:role:id` and `everyone`, each with the name to show. */
export interface Mentioned {
  ref: string;
  name: string;
}

/** `platform:id|name`, as notices keep it. */
export function readMention(mention: string): Mentioned {
  const [ref = "", name = ref] = mention.split("|");
  return { ref, name };
}

/** An account that the configuration gives by its id has the name of its person. */
export function named(accounts: readonly Mentioned[], { nameOf }: { nameOf(ref: string): string }): Mentioned[] {
  return accounts.map(({ ref, name }) => ({ ref, name: name === ref ? nameOf(ref) : name }));
}

/** The accounts that `mention:` means. An unknown name is left out: the text of the message has it. */
export function accountsOf(
  mentions: readonly string[],
  { people, rotas }: Pick<AlertsConfig, "people" | "rotas">,
  now: number,
): Mentioned[] {
  return mentions.flatMap((mention): Mentioned[] => {
    if (mention.startsWith(ONCALL)) {
      const rota = rotas[mention.slice(ONCALL.length)];
      const person = rota && onCall(rota, now);
      return person === undefined ? [] : accountsOf([person], { people, rotas: {} }, now);
    }
    const accounts = people[mention];
    if (accounts !== undefined) return accounts.map((ref) => ({ ref, name: mention }));
    return mention === "everyone" || mention.includes(":") ? [{ ref: mention, name: mention }] : [];
  });
}
