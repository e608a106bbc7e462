/**
 * Checks every open alert against the rules that keep alerts quiet, after one of them changed. Alerts that the change concerns go through
 * the pipeline; all, after settings changed.
 */
import { type Alert, isOpen } from "../domain/alerts/alert.js";
import type { Alerting } from "./alerting.js";
import { labelsOf } from "./matchers.js";
import { OWN_KIND } from "./own-alerts.js";
import type { Occasion } from "./pipeline.js";

const PAGE = 500;

export async function reexamine(
  alerting: Alerting,
  which: "concerned" | "all",
  run: (occasion: Occasion) => Promise<unknown>,
): Promise<void> {
  const { inhibitors } = alerting;
  // All alerts are noted first: the order of alerts must not decide which alert keeps which other one quiet.
  await eachOpen(alerting, async (page) => {
    for (const alert of page) inhibitors.note(alert);
  });
  await eachOpen(alerting, async (page) => {
    const concerned = which === "all" ? page : page.filter((alert) => isConcerned(alert, alerting));
    await Promise.all(concerned.map(({ id }) => run({ kind: "time", id })));
  });
}

function isConcerned(alert: Alert, { silences, inhibitors, clock }: Alerting): boolean {
  // The alert goes to a chat where nothing else failed, which may be another chat now.
  if (alert.signal.source.kind === OWN_KIND) return true;
  const labels = labelsOf(alert);
  const isSilenced = silences.find(labels, clock.now()) !== undefined;
  if (isSilenced !== (alert.state === "silenced")) return true;
  return (inhibitors.find(labels) !== undefined) !== (alert.state === "inhibited") && !isSilenced;
}

/** Open alerts, page by page. */
export async function eachOpen(
  { store }: Pick<Alerting, "store">,
  take: (page: readonly Alert[]) => Promise<void>,
): Promise<void> {
  for (let afterId = ""; ; ) {
    const page = await store.list({ open: true, afterId, limit: PAGE });
    await take(page);
    afterId = page.at(-1)?.id ?? afterId;
    if (page.length < PAGE) return;
    // Reads do not yield by themselves: messages get their turn between two pages.
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/**
 * The alerts that an id names: one (`al_…`), all of a card (`ac_…`), or those that one message is about (`d_…`), without those that
 * its card got later.
 */
export async function idsOf(id: string, store: Pick<Alerting["store"], "list" | "idsIn">): Promise<string[]> {
  if (id.startsWith("ac_")) return idsOn(id, store);
  return id.startsWith("d_") ? store.idsIn(id) : [id];
}

/** The open alert that has the same cause, when this one has ended: it fired again under another id. */
export async function firedAgain(alert: Alert, store: Pick<Alerting["store"], "latest">): Promise<Alert | undefined> {
  if (isOpen(alert.state)) return undefined;
  const newest = await store.latest(alert.fingerprint);
  return newest !== undefined && isOpen(newest.state) ? newest : undefined;
}

async function idsOn(cardId: string, store: Pick<Alerting["store"], "list">): Promise<string[]> {
  const ids: string[] = [];
  for (let afterId = ""; ; ) {
    const page = await store.list({ cardId, afterId, limit: PAGE });
    ids.push(...page.map(({ id }) => id));
    afterId = page.at(-1)?.id ?? afterId;
    if (page.length < PAGE) return ids;
  }
}
