/** Whom a step of an escalation reaches: the accounts that are mentioned, and what is missing where it reaches no one. */
import type { Alerting } from "./alerting.js";
import type { AlertsConfig, RouteConfig } from "./config.js";
import { accountsOf, type Mentioned, onCall } from "./people.js";
import { nextOnCall } from "./shifts.js";

type Step = RouteConfig["escalate"][number];
type People = Pick<AlertsConfig, "people" | "rotas">;

export interface Reach {
  mentioned: Mentioned[];
  /** What is missing, in sentences; empty when each mention names an account. */
  missing: string[];
}

/** The person who comes next stands in for a rota that has no one on call. */
export function reachOf({ mention }: Pick<Step, "mention">, config: People, now: number): Reach {
  const mentioned: Mentioned[] = [];
  const missing: string[] = [];
  for (const one of mention) {
    const found = accountsOf([one], config, now);
    mentioned.push(...found);
    if (found.length > 0) continue;
    const rota = config.rotas[one.replace(/^oncall:/, "")];
    const person = rota && one.startsWith("oncall:") ? onCall(rota, now) : one;
    if (person !== undefined) {
      missing.push(`${person} has no account in \`alerts.people\``);
      continue;
    }
    const next = rota && nextOnCall(rota, now)?.person;
    const standIn = next === undefined ? [] : accountsOf([next], config, now);
    mentioned.push(...standIn);
    const instead = standIn.length === 0 ? "" : `; ${next} is next and is mentioned instead`;
    missing.push(`The rota ${one.replace(/^oncall:/, "")} has no one on call now${instead}`);
  }
  return { mentioned, missing };
}

/** Whether a message there notifies one of them. A webhook decides by itself. */
export function isReached(destination: string, mentioned: readonly Mentioned[]): boolean {
  const platform = destination.split(":")[0];
  return (
    /^https?:\/\//.test(destination) ||
    mentioned.some(({ ref }) => ref === "everyone" || ref.startsWith(`${platform}:`))
  );
}

/** Where a step is posted. */
export function destinationsOf({ to, webhook }: Pick<Step, "to" | "webhook">, otherwise: readonly string[]): string[] {
  return [...(to.length > 0 ? to : otherwise), ...(webhook === undefined ? [] : [webhook])];
}

interface Around extends Pick<Alerting, "direct"> {
  config: People;
}

/** A step mentions people, and no message of it would notify one of those who are on call now, in a private chat neither. */
export function reachesNoOne(step: Step, there: readonly string[], around: Around, now: number): boolean {
  if (step.mention.length === 0) return false;
  const mentioned = accountsOf(step.mention, around.config, now);
  const isCalled = destinationsOf(step, there).some((destination) => isReached(destination, mentioned));
  return !isCalled && directOf(step, there, around, now).length === 0;
}

/** Private chats of the people on call, where no message of the step would notify one of them. */
export function directOf(step: Step, there: readonly string[], { config, direct }: Around, now: number): string[] {
  const mentioned = accountsOf(step.mention, config, now);
  if (destinationsOf(step, there).some((destination) => isReached(destination, mentioned))) return [];
  return [...new Set(mentioned.flatMap(({ ref }) => direct(ref) ?? []))];
}

const MAX_TURNS_AHEAD = 10;

/** Who comes next on the rotas of a step and has an account where it is posted. */
export function standInsAt(destination: string, { mention }: Pick<Step, "mention">, config: People, now: number) {
  return mention.flatMap((one): Mentioned[] => {
    const rota = one.startsWith("oncall:") ? config.rotas[one.slice("oncall:".length)] : undefined;
    let at = now;
    for (let turn = 0; rota && turn < MAX_TURNS_AHEAD; turn++) {
      const next = nextOnCall(rota, at);
      if (next === undefined) return [];
      const accounts = accountsOf([next.person], config, now);
      if (isReached(destination, accounts)) return accounts;
      at = next.at;
    }
    return [];
  });
}
