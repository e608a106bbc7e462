/** Raises an alert about an escalation step that notified none of its people. */
import type { Alert, Notice } from "../../../domain/alerts/alert.js";
import { OWN_KIND } from "../../own-alerts.js";
import { rotaOf } from "../../rota/people.js";
import { peopleOf } from "../../rota/reach.js";
import { missingOf, refusedOf } from "../../steps/call.js";
import { unreachedStep } from "../../steps/escalate.js";
import { stepTaken, urgingOf } from "../../urging.js";
import type { Telling } from "../telling.js";
import { unreached } from "./undelivered.js";

/** A step that notified none of its people is an alert itself. Not a step of an alert about alerting: that would hide the cause. */
export async function noteUnreached({ key, copy }: Notice, alert: Alert, telling: Telling): Promise<void> {
  const { entity, source } = alert.signal;
  const of = unreachedStep(key);
  if (of === undefined || source.kind === OWN_KIND || copy) return;
  const { route, step } = of;
  const urging = urgingOf(alert, { name: route });
  const { then } = stepTaken(urging, Number(step), telling.config.routes[route]?.escalate ?? []);
  const mention = [...(then?.mention ?? [])];
  const number = then?.number ?? Number(step);
  const own = unreached(alert, { route, step, number, mention });
  if (await telling.store.latest(own.fingerprint)) return;
  const missing = mention.flatMap((one) => missingOf(one, telling, telling.clock.now()) ?? []);
  const why = missing.length > 0 ? missing.join(". ") : whyUnread(mention, telling);
  const reason = `Step ${number} of route ${route} notified none of its people. ${why}.`;
  const raised = { ...own, state: "firing" as const, reason };
  await telling.raiseOwn(entity === undefined ? raised : { ...raised, entity });
}

function whyUnread(mention: readonly string[], telling: Telling): string {
  // The next people of a rota were tried as well.
  const people = mention.flatMap((one) => {
    const rota = telling.config.rotas[rotaOf(one) ?? ""];
    return rota === undefined ? [one] : [one, ...peopleOf(rota)];
  });
  const refused = refusedOf(people, telling, telling.clock.now());
  const also = refused === undefined ? "" : `, and the private chat of ${refused} takes no alerts`;
  return `None of their accounts can be notified where it was posted${also}`;
}
