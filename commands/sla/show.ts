/** `/sla show ID`: one clock with its history, or all clocks of one task, mission or conversation. */

import type { ClockView } from "../../src/alerts/sla/desk-views.js";
import { extensionText, SLA_MEASURE_NAMES, type SlaAnnouncement } from "../../src/domain/alerts/sla.js";
import type { Button } from "../../src/domain/chat/message.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { answer, commandButton, missing, notFound, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { readableReasons } from "../hooks/hook-reasons.js";
import { code, plain } from "../show/text.js";
import { nameOf } from "../tasks/rows.js";
import { clockData, clocksNamed, deskOf, dueText, percent, standing, timeText } from "./texts.js";

export async function showClock(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { options } = context;
  const desk = deskOf(deps);
  const id = typeof options.id === "string" ? options.id.trim() : "";
  if (id === "") throw missing("the id of a clock, or of what it watches", "`/sla list` shows them.", "id");
  const found = await clocksNamed(deps, id);
  if (found.length === 0)
    throw notFound("clock", id, [], "`/sla list` shows those that are open, `/sla list ended` the others.", "id");
  const histories = await Promise.all(
    found.map(async ({ clock }) => (await desk.announcements(clock.id)).map((one) => readable(one, context))),
  );
  const open = found.find(({ clock }) => clock.state !== "ended");
  return answer({
    text: found.flatMap((view, index) =>
      describe(view, histories[index] ?? [], deps.clock.now(), (ref) => (deps.tasks ? nameOf(ref, deps.tasks) : ref)),
    ),
    data: {
      clocks: found.map((view, index) => ({ ...clockData(view), announcements: histories[index]?.map(asData) })),
    },
    buttons: [
      open
        ? [
            commandButton(
              "1 h more",
              `/sla extend id=${word(open.clock.id)} expected=${desk.standOf(open.clock)} by=1h`,
            ),
            ...(open.clock.entity.type === "conversation" ? [closeButton(open.clock)] : []),
          ]
        : [],
    ],
  });
}

/** A customer who waits is not closed without a reason. */
function closeButton({ entity }: ClockView["clock"]): Button {
  const line = `/sla close id=${word(entity.id)}`;
  if (entity.status !== "waiting") return commandButton("Resolved", line);
  const title = "End conversation…";
  const fields = [{ id: "reason", label: "Why it ends without an answer", required: true }];
  return { label: title, style: "secondary", action: { kind: "command", line, form: { title, fields } } };
}

function describe(
  view: ClockView,
  history: readonly SlaAnnouncement[],
  now: number,
  called: (ref: string) => string,
): (string | false)[] {
  const { clock, usedMs, percentUsed, timezone } = view;
  const { entity, course } = clock;
  const extension = extensionText(clock);
  const facts: [string, string | undefined][] = [
    ["clock", code(clock.id)],
    ["policy", code(clock.policyId)],
    ["measures", SLA_MEASURE_NAMES[clock.measure]],
    ["status", standing(view, now)],
    ["elapsed", `${formatDuration(usedMs)} of ${formatDuration(clock.targetMs)} (${percent(percentUsed)})`],
    ["started", timeText(clock.startedAt, timezone)],
    ["due", dueText(view)],
    ["ended", clock.endedAt === undefined ? undefined : timeText(clock.endedAt, timezone)],
    ["extended", extension && plain(extension)],
    ["pauses", course.pauses.length === 0 ? undefined : String(course.pauses.length)],
    ["state", entity.status && plain(entity.status)],
    ["owner", entity.owner === undefined ? undefined : plain(called(entity.owner))],
  ];
  return [
    `**${plain(entity.title)}** · ${entity.type} ${code(entity.id)}`,
    facts.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`])).join("\n"),
    history.length > 0 &&
      `History:\n${history.map((entry) => `· ${timeText(entry.at, timezone)} ${plain(lineOf(entry))}`).join("\n")}`,
  ];
}

/** A hook that vetoed it may quote messages. */
function readable(one: SlaAnnouncement, context: CommandContext): SlaAnnouncement {
  if (one.reason === undefined) return one;
  return { ...one, ...readableReasons(context, { reason: one.reason }) };
}

function lineOf({ news, signal, status, reason, by }: SlaAnnouncement): string {
  const what = news ? `${news.status}: ${signal.reason}` : signal.reason;
  if (status === "vetoed") return `${what} (vetoed${by ? ` by ${by}` : ""}: ${reason ?? ""})`;
  if (status === "failed") return `${what} (failed: ${reason ?? ""})`;
  return status === "told" ? what : `${what} (${status})`;
}

function asData({ id, at, status, reason, by, news, signal, episode }: SlaAnnouncement) {
  return { id, at, episode, status, reason, by, news: news?.status, says: signal.reason };
}
