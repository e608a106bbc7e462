/** The card of many alerts: the worst alerts, the count of each state, and one press for all. */
import { ALERT_STATES, type Alert, type AlertCard, isOpen } from "../../domain/alerts/alert.js";
import { type AlertCounts, countTexts } from "../../domain/alerts/alert-counts.js";
import { commandButton } from "../../domain/chat/command-button.js";
import type { Button, Card, OutboundMessage } from "../../domain/chat/message.js";
import { type AlertsConfig, defaultRoute } from "../config.js";
import type { Telling } from "../tell/telling.js";
import { alertLine } from "./alert-line.js";
import { asking, labelOf, SNOOZE_QUESTION } from "./buttons.js";
import { movedWords } from "./moved-card.js";
import { inline } from "./words.js";

const SHOWN = 10;

export async function listCard(card: AlertCard, telling: Telling): Promise<OutboundMessage> {
  const { store, config } = telling;
  const alerts = await store.list({ cardId: card.id, limit: SHOWN });
  const counts = await store.counts({ cardId: card.id });
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const open = ALERT_STATES.filter(isOpen).reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const lines = await Promise.all(alerts.map(async (alert) => `- ${await alertLine(alert, telling)}`));
  const runbooks = new Set(alerts.flatMap(({ state, signal }) => (isOpen(state) ? (signal.runbook ?? []) : [])));
  const runbook = [...runbooks].map((one) => `\n\nRunbook: ${inline(one)}`).join("");
  const [moved] = await store.movedFrom(card.id, 1);
  const gone = moved ? `${total === 0 ? "" : "\n\nOthers: "}${movedWords(moved.movedTo, telling)}.` : "";
  const more = total > SHOWN ? `\n\nand ${(total - SHOWN).toLocaleString("en-US")} more: \`/alerts\`` : "";
  return {
    text: "",
    card: {
      title: titleFor(card, { total, open, postponed: counts.postponed ?? 0 }, alerts[0]),
      text: `${countTexts(counts).join(" · ")}\n\n${lines.join("\n")}${more}${runbook}${gone}`.trim(),
      tone: toneOf(open, counts),
      footer: card.id,
    },
    buttons: open > 0 ? buttons(card, config) : undefined,
  };
}

/** Before the title of every card of many. */
export const markOfCard = ({ kind }: AlertCard) => (kind === "catch-up" ? "🌙 While it was quiet:" : "🗂");

function titleFor(
  card: AlertCard,
  { total, open, postponed }: { total: number; open: number; postponed: number },
  first: Alert | undefined,
): string {
  const { kind, key } = card;
  const count = `${total.toLocaleString("en-US")} alert${total === 1 ? "" : "s"}`;
  // A single alert is named by its own title: the group's key means nothing to people.
  const only = total === 1 && first ? first.signal.title : undefined;
  if (total === 0)
    return `${markOfCard(card)} No alert is shown here any more${kind === "list" ? groupText(key) : ""}`.slice(0, 250);
  const closed = postponed > 0 ? ", none open" : ", all ended";
  const left = open === 0 ? closed : open < total ? `, ${open.toLocaleString("en-US")} open` : "";
  const what = kind === "rest" ? " at once" : "";
  const group = kind === "list" ? groupText(key) : "";
  return `${markOfCard(card)} ${only ?? `${count}${what}${left}${group}`}`.slice(0, 250);
}

/** `: policy replies`. `key`: `route|source=sla|policy=replies`, by the labels that its route groups by. */
function groupText(key: string): string {
  const labels = key.split("|").slice(1).map(nameAndValue);
  const isOfPolicy = labels.some(([name, value]) => name === "policy" && value !== "");
  const words = labels.flatMap(([name, value]) => {
    // Every policy is of this source.
    if (value === "" || (name === "source" && value === "sla" && isOfPolicy)) return [];
    return (name === "source" ? SOURCES[value] : undefined) ?? `${name} ${value}`;
  });
  return words.length === 0 ? "" : `: ${words.join(", ").slice(0, 120)}`;
}

const SOURCES: Readonly<Record<string, string>> = { alerts: "about alerting", gateway: "about the gateway" };

function nameAndValue(label: string): [string, string] {
  const at = label.indexOf("=");
  return [label.slice(0, at), label.slice(at + 1)];
}

function toneOf(open: number, { firing, postponed }: AlertCounts): NonNullable<Card["tone"]> {
  if (open === 0) return postponed === undefined ? "good" : "neutral";
  return firing === undefined ? "warning" : "bad";
}

/**
 * The buttons follow the route of the group; a card with alerts of several routes has all buttons. A press acts on each open alert of the
 * card.
 */
function buttons({ id, kind, group }: AlertCard, { routes }: AlertsConfig): Button[][] {
  const [route = ""] = group.split("|");
  const settings = (kind === "list" ? routes[route] : undefined) ?? defaultRoute;
  const has = (name: (typeof settings.buttons)[number]) => settings.buttons.includes(name);
  const [first] = settings.snooze;
  const row = [
    has("ack") && commandButton("Acknowledge all", `/ack ${id}`, "success"),
    has("snooze") && first !== undefined && commandButton(labelOf("Snooze all", first), `/snooze ${id} ${first}`),
    has("snooze") && asking("Snooze all…", `/snooze ${id}`, [{ id: "for", label: SNOOZE_QUESTION, required: true }]),
    commandButton("Show all", "/alerts open"),
  ];
  return [row.filter((one): one is Button => one !== false)];
}
