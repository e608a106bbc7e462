/** A command that the live gateway runs: call, print, exit code. Lists get tables as wide as they need. */
import { z } from "zod";
import { outcomeWords } from "../../commands/runs/show-dispatch.js";
import { align } from "../../commands/show/text.js";
import { HookgateError } from "../lib/errors.js";
import { formatDuration } from "../lib/time/duration.js";
import { type Call, callGateway, errorBody, type GatewayAnswer, type NamedCall } from "./call-gateway.js";
import { EXIT, type ExitCode, exitCodeOf } from "./exit.js";
import { printError, printJson, type Terminal, terminalText } from "./terminal.js";

/** `view`: shown as a table of this kind when there are rows. */
export type LiveCall = (NamedCall & { view?: "hooks" | "letters" }) | { line: string; view?: undefined };

/** A list of hooks has at most so many pages on the command line. */
const MAX_PAGES = 100;

export async function runLive(call: LiveCall, json: boolean, terminal: Terminal): Promise<ExitCode> {
  const answer = call.view === "hooks" ? await allHooks(call) : await callGateway(sentOf(call));
  const { data, message } = answer;
  const parsed = errorBody.safeParse(data);
  if (json && data !== undefined) printJson(terminal, data);
  if (parsed.success) printError(terminal, new HookgateError(parsed.data.error));
  else if (!json || data === undefined) {
    const text = (call.view && tableOf(call.view, data)) ?? terminalText(message, terminal.isTty);
    if (data === undefined && codeOf(answer) !== EXIT.done) terminal.error(text);
    else terminal.out(text);
  }
  return parsed.success ? exitCodeOf(new HookgateError(parsed.data.error)) : codeOf(answer);
}

function codeOf({ outcome }: GatewayAnswer): ExitCode {
  switch (outcome) {
    case "refused":
      return EXIT.refused;
    case "failed":
      return EXIT.failed;
    case "done":
    case undefined:
      return EXIT.done;
  }
}

const hooksPage = z.looseObject({
  hooks: z.array(z.unknown()),
  pages: z.number().optional(),
  page: z.number().optional(),
});

const sentOf = (call: LiveCall): Call =>
  "line" in call ? { line: call.line } : { name: call.name, options: call.options };

/** The gateway pages the list for a chat; here it is one. */
async function allHooks(call: NamedCall): Promise<GatewayAnswer> {
  const first = await callGateway({ name: call.name, options: call.options });
  const parsed = hooksPage.safeParse(first.data);
  if (!parsed.success) return first;
  const hooks = [...parsed.data.hooks];
  for (let page = 2; page <= Math.min(parsed.data.pages ?? 1, MAX_PAGES); page++) {
    const next = hooksPage.safeParse((await callGateway({ name: call.name, options: { ...call.options, page } })).data);
    if (!next.success) break;
    hooks.push(...next.data.hooks);
  }
  const { page: _page, pages: _pages, ...rest } = parsed.data;
  return { ...first, data: { ...rest, hooks } };
}

const hookRows = z.object({
  hooks: z
    .array(
      z.object({
        id: z.string(),
        family: z.string(),
        point: z.string(),
        phase: z.string().optional(),
        enabled: z.boolean(),
        lastFiredAt: z.number().optional(),
        lastOutcome: z.string().optional(),
        fires: z.number(),
        failures: z.number(),
        p95Ms: z.number().optional(),
      }),
    )
    .default([]),
  /** Configured hooks that are not in force. */
  broken: z
    .array(z.object({ id: z.string(), place: z.string(), problems: z.array(z.object({ message: z.string() })) }))
    .default([]),
});
const letterRows = z.object({
  total: z.number().optional(),
  page: z.number().optional(),
  pages: z.number().optional(),
  letters: z
    .array(
      z.object({
        id: z.string(),
        box: z.string(),
        status: z.string(),
        conversation: z.string(),
        place: z.string(),
        at: z.number(),
        attempts: z.number(),
        reason: z.string().optional(),
        ambiguous: z.boolean(),
      }),
    )
    .min(1),
});

/** Undefined when the data has no rows: the message's own words explain that. */
function tableOf(view: NonNullable<LiveCall["view"]>, data: unknown): string | undefined {
  switch (view) {
    case "hooks": {
      const parsed = hookRows.safeParse(data);
      if (!parsed.success || parsed.data.hooks.length + parsed.data.broken.length === 0) return undefined;
      return [hooksTable(parsed.data.hooks), ...parsed.data.broken.map(brokenLine)].join("\n");
    }
    case "letters": {
      const parsed = letterRows.safeParse(data);
      return parsed.success ? `${lettersTable(parsed.data.letters)}${moreText(parsed.data)}` : undefined;
    }
  }
}

const WIDE = 80;
const wide = (title: string) => ({ title, maxCharacters: WIDE });
const right = (title: string) => ({ title, right: true });
const time = (at: number) => new Date(at).toISOString().slice(0, 19).replace("T", " ");

function brokenLine({ id, place, problems }: z.infer<typeof hookRows>["broken"][number]): string {
  return `broken: ${id} (${place}): ${problems.map(({ message }) => message).join("; ")}`;
}

/** Makes one table per family, in the order of the gateway. */
function hooksTable(rows: z.infer<typeof hookRows>["hooks"]): string {
  const families = [...new Set(rows.map(({ family }) => family))];
  return families
    .map((family) => `${family}\n${familyTable(rows.filter((row) => row.family === family))}\n`)
    .join("\n");
}

function familyTable(rows: z.infer<typeof hookRows>["hooks"]): string {
  return align(
    [
      wide("POINT"),
      wide("HOOK"),
      wide("STATE"),
      wide("LAST FIRED"),
      wide("OUTCOME"),
      right("24 H"),
      right("FAILED"),
      right("P95"),
    ],
    rows.map((row) => [
      row.phase ? `${row.point} ${row.phase}` : row.point,
      row.id,
      row.enabled ? "on" : "off",
      row.lastFiredAt === undefined ? "never fired" : time(row.lastFiredAt),
      row.lastOutcome === undefined ? "" : outcomeWords(row.lastOutcome),
      String(row.fires),
      String(row.failures),
      row.p95Ms === undefined ? "" : formatDuration(row.p95Ms),
    ]),
  );
}

function moreText({ letters, total = 0, page = 1, pages = 1 }: z.infer<typeof letterRows>): string {
  const more = total - page * letters.length;
  if (page >= pages || more <= 0) return "";
  return `\n\n${more} more ${more === 1 ? "message" : "messages"} on page ${page + 1} of ${pages}${page + 1 < pages ? " and later" : ""}. To see ${more === 1 ? "it" : "them"}, add --page ${page + 1}.`;
}

function lettersTable(rows: z.infer<typeof letterRows>["letters"]): string {
  return align(
    [wide("ID"), wide("BOX"), wide("STATUS"), wide("WHERE"), wide("SINCE"), right("TRIED"), wide("WHY"), wide("CHAT")],
    rows.map((row) => [
      row.id,
      row.box,
      `${row.status}${row.ambiguous ? (row.box === "inbox" ? ", may have been handled" : ", may have arrived") : ""}`,
      row.place,
      time(row.at),
      String(row.attempts),
      row.reason ?? "",
      // The value that `--chat` takes.
      row.place === row.conversation ? "" : row.conversation,
    ]),
  );
}
