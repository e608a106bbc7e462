/** Alerts about rotas: a rota of a route has no one on call; a step of an escalation notified none of its people. */

import { type Alert, isOpen } from "../../domain/alerts/alert.js";
import { formatAddress } from "../../domain/chat/address.js";
import { type AlertsConfig, defaultRoute, type RotaConfig } from "../config.js";
import { GAP_KIND, OWN_KIND } from "../own-alerts.js";
import { namesOf } from "../steps/call.js";
import { UNREACHED_PREFIX } from "../tell/pages/undelivered.js";
import type { Telling } from "../tell/telling.js";
import { stepTaken, urgingOf } from "../urging.js";
import { reachesOf } from "./on-call.js";
import { onCall, rotaOf } from "./people.js";
import { askReaders, reachOf } from "./reach.js";
import { dutyEnds, nextOnCall } from "./shifts.js";

type Watching = Pick<
  Telling,
  "config" | "admins" | "direct" | "personOf" | "inhibitors" | "readers" | "clock" | "store" | "raiseOwn" | "nameOf"
>;

/** Safe to repeat: a gap is reported when it starts, and not again after a restart or when an operator has resolved its alert. */
export async function watchRotas(watching: Watching): Promise<void> {
  const { config, clock } = watching;
  const now = clock.now();
  for (const { signal } of await watching.store.openWith(UNREACHED_PREFIX)) {
    const reason = await whyNotUnreached(signal.labels, watching, now);
    if (reason !== undefined) await watching.raiseOwn({ ...signal, state: "resolved", reason });
  }
  const used = usedRotas(config);
  for (const rota of Object.keys(config.rotas)) if (used.has(rota)) await noteGap(rota, watching);
}

/** After the settings changed: a rota that no escalation mentions any more needs no one on call. */
export async function endUnusedGaps(page: readonly Alert[], { config, raiseOwn }: Watching): Promise<void> {
  const used = usedRotas(config);
  for (const { signal } of page)
    if (signal.source.kind === OWN_KIND && signal.labels.kind === GAP_KIND && !used.has(signal.labels.rota ?? ""))
      await raiseOwn({ ...signal, state: "resolved", reason: "no escalation mentions this rota" });
}

/** The settings of the step are read again: they may have been fixed. Undefined while the step would notify none of its people. */
async function whyNotUnreached(
  { alert: id = "", route = "", step: number }: Readonly<Record<string, string>>,
  watching: Watching,
  now: number,
): Promise<string | undefined> {
  const { config, store, admins } = watching;
  const alert = await store.get(id);
  if (alert === undefined || !isOpen(alert.state)) return "the alert that was escalated has ended";
  const { to, escalate } = config.routes[route] ?? defaultRoute;
  const { now: step } = stepTaken(urgingOf(alert, { name: route }), Number(number), escalate);
  if (step === undefined || step.mention.length === 0) return "the settings have no such step any more";
  const there = to.length > 0 ? to : admins().map(formatAddress);
  // After a start it is not known who can read the chats: until then the alert stays.
  if (!(await askReaders(step, there, watching)) || reachOf(step, there, watching, now).isUnreached) return undefined;
  return "this step would notify its people now; it is not posted again";
}

async function noteGap(rota: string, watching: Watching): Promise<void> {
  const { config, clock, store, raiseOwn, nameOf } = watching;
  const shifts = config.rotas[rota] as RotaConfig;
  const now = clock.now();
  const person = onCall(shifts, now);
  const gap = {
    fingerprint: `alerts:${GAP_KIND}:${rota}`,
    severity: "warning" as const,
    title: `No one is on call: rota ${rota}`,
    source: { kind: OWN_KIND, id: rota },
    labels: { kind: GAP_KIND, rota },
    runbook: "/oncall who",
  };
  const known = await store.latest(gap.fingerprint);
  const isKnown = known !== undefined && isOpen(known.state);
  if (person !== undefined) {
    if (isKnown) await raiseOwn({ ...gap, state: "resolved", reason: `${nameOf(person)} is on call` });
    return;
  }
  const until = dutyEnds(shifts, now);
  const next = nextOnCall(shifts, now);
  const when =
    until === undefined ? "from now on: add a person under alerts.rotas" : `until ${new Date(until).toISOString()}`;
  const gapText = `No one is on call ${when}.${next === undefined ? "" : ` ${nameOf(next.person)} is next.`}`;
  const text = [gapText, ...meanwhile(rota, watching)].join(" ");
  const isSame = known?.signal.state === "firing" && known.signal.reason.startsWith(gapText);
  if (isSame && (!isKnown || known.signal.reason === text)) return;
  // Another gap: the former one ended while the gateway was stopped, or the rota was changed.
  if (isKnown && !isSame) await raiseOwn({ ...gap, state: "resolved", reason: "the rota has another gap now" });
  await raiseOwn({ ...gap, state: "firing", reason: text });
}

/** The people whom escalations notify in this gap, and what to do where there are none. */
function meanwhile(rota: string, watching: Watching): string[] {
  const reaches = reachesOf(rota, watching, watching.clock.now());
  const names = namesOf(
    reaches.flatMap(({ reach }) => reach.notified),
    watching,
  );
  const isUnreached = reaches.some(({ reach }) => reach.isUnreached);
  return [
    ...(names === "" ? [] : [`Escalations that mention this rota notify ${names} instead.`]),
    ...(isUnreached ? [UNREACHED_HELP] : []),
  ];
}

const UNREACHED_HELP =
  "Some escalation steps notify no one now: add people under alerts.rotas, and their accounts under alerts.people.";

/** The rotas that a step of an escalation mentions. */
function usedRotas({ routes }: Pick<AlertsConfig, "routes">): ReadonlySet<string> {
  const mentions = Object.values(routes).flatMap(({ escalate }) => escalate.flatMap(({ mention }) => mention));
  return new Set(mentions.flatMap((one) => rotaOf(one) ?? []));
}
