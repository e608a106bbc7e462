/** `/snooze ID 1h`, `/snooze ID tomorrow 9:00`: not now. `business`: until the next business hour; `off`: now after all. */
import { formatAddress } from "../src/domain/chat/address.js";
import { DAY_MS } from "../src/lib/time/duration.js";
import { done, momentText } from "./alerts/done.js";
import { ALERT_ID, actorOf, idOf, needAlerts } from "./alerts/need.js";
import { answer, badUsage } from "./answer.js";
import { defineCommand } from "./define.js";
import { plain } from "./show/text.js";
import { momentOf, readWhen, WHEN_FORMS } from "./show/when.js";

const MAX_MS = 30 * DAY_MS;

export const snooze = defineCommand({
  name: "snooze",
  group: "alerts",
  summary: "Puts an alert off",
  role: "operator",
  options: [
    ALERT_ID,
    {
      name: "for",
      summary: "15m, 2h, tomorrow 9:00, business (until the next business hour), or off",
      type: "string",
      rest: true,
    },
  ],
  answersWithNote: (options) => options.for !== undefined,
  async run(deps, context) {
    const desk = needAlerts(deps);
    const given = context.options.for;
    const by = actorOf(context);
    const answering = { desk, clock: deps.clock };
    const id = await idOf(desk, context.options.id, context);
    if (given === undefined && context.at !== undefined && id.startsWith("al_")) {
      const alert = await desk.get(id);
      return answer({
        text: [`For how long? ${plain(alert?.signal.title ?? id, 120)}`],
        data: { id },
        buttons: [await desk.snoozeButtons(id, formatAddress(context.at))],
      });
    }
    if (given === undefined)
      throw badUsage("Missing: how long.", `Such as \`/snooze ${id} 2h\`. ${WHEN_FORMS} \`off\` ends a snooze.`);
    if (given === "off")
      return done(await desk.act(id, { kind: "wake" }, by), { verb: "Awake", event: "wake", past: "woken" }, answering);
    const now = deps.clock.now();
    const until = momentOf(readWhen(given, now, desk.timezone()), now, desk);
    if (until > now + MAX_MS) throw badUsage("An alert can be put off for 30 days at most.", WHEN_FORMS);
    const acted = await desk.act(id, { kind: "snooze", until }, by);
    const shown = (atMs: number) => momentText(atMs, desk);
    const [alert] = acted.alerts;
    // A silence, a window or another alert keeps it quiet, which may last longer than the snooze.
    const silence = desk.silences.list().find(({ id }) => alert?.state === "silenced" && id === alert.quietBy);
    const end =
      silence !== undefined && silence.until > until
        ? ` until ${shown(silence.until)}, when its silence ends`
        : ` until ${shown(until)}${alert?.quietBy === undefined || silence !== undefined ? "" : " at the earliest"}`;
    return done(acted, { verb: "Snoozed", event: "snooze", until: end }, answering);
  },
});
