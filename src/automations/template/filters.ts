/** Names in the arguments of filters: fields of the items of a list, and the form of a date. */
import type { Output, Value } from "liquidjs";
import { timezoneProblem } from "../../lib/time/timezone.js";
import { isNoJson, noValueIn } from "./data.js";
import { liquid } from "./engine.js";

export type Filter = Value["filters"][number];

/** Their first argument is a field of each item. */
const BY_FIELD: ReadonlySet<string> = new Set([
  "map",
  "where",
  "reject",
  "sort",
  "sort_natural",
  "group_by",
  "sum",
  "find",
  "find_index",
  "has",
]);

/** Filters that return a list of items of their input. */
const KEEPS_ITEMS: ReadonlySet<string> = new Set([
  "where",
  "reject",
  "sort",
  "sort_natural",
  "reverse",
  "uniq",
  "compact",
]);

export const keepsItems = ({ name }: Filter) => KEEPS_ITEMS.has(name);

/** The fields that filters read of each item of a list, as paths. */
export function fieldsOf(filters: readonly Filter[]): string[][] {
  const paths: string[][] = [];
  for (const filter of filters) {
    const field = BY_FIELD.has(filter.name) ? textOf(filter.args[0]) : undefined;
    if (field !== undefined && /^[\w-]+(\.[\w-]+)*$/.test(field)) paths.push(field.split("."));
    if (!keepsItems(filter)) break;
  }
  return paths;
}

/** `steps[0].json.x | default: "none"` prints its other value for a step that brought no JSON, as for a field that is not there. */
export function letDefaultStandIn({ filters, initial }: Value): void {
  if (filters[0]?.name !== "default") return;
  const evaluate = initial.evaluate.bind(initial);
  initial.evaluate = function* (...given) {
    try {
      return yield* evaluate(...given);
    } catch (error) {
      if (isNoJson(error)) return undefined;
      throw error;
    }
  };
}

/** Filters that return the text of their input, in another form. */
const KEEPS_TEXT: ReadonlySet<string> = new Set([
  // The library's name of the last filter, which is the engine's own and prints.
  "[object Function]",
  ..."append prepend capitalize downcase upcase strip lstrip rstrip strip_html strip_newlines newline_to_br".split(" "),
  ..."normalize_whitespace truncate truncatewords escape escape_once xml_escape plain default".split(" "),
  ..."url_encode cgi_escape uri_escape json jsonify inspect replace replace_first replace_last join".split(" "),
]);

/** `{{ steps[0].stdout }}` of a step that failed shows that, unless it computes with it (`size`, `>`): that fails as a condition does. */
export function showLostValue({ value: { filters, initial } }: Output): void {
  if (initial.postfix.length !== 1 || !filters.every(({ name }) => KEEPS_TEXT.has(name))) return;
  const evaluate = initial.evaluate.bind(initial);
  initial.evaluate = function* (...given) {
    try {
      return yield* evaluate(...given);
    } catch (error) {
      const lost = noValueIn(error);
      if (lost !== undefined) return lost.shown;
      throw error;
    }
  };
}

/** Without an argument they fail, print NaN, or do nothing. */
const NEEDS_ARGUMENT: ReadonlySet<string> = new Set([
  ..."append prepend replace replace_first replace_last remove remove_first remove_last split".split(" "),
  ..."plus minus times divided_by modulo at_least at_most concat push unshift".split(" "),
  ..."map where reject find find_index has group_by where_exp reject_exp find_exp has_exp group_by_exp".split(" "),
]);

/** A filter that fails, or has no effect, for every input. */
export function filterProblem(filter: Filter): string | undefined {
  if (NEEDS_ARGUMENT.has(filter.name) && filter.args.length === 0)
    return `the filter ${filter.name} needs an argument: write ${filter.name}: …`;
  return dateProblem(filter);
}

/** A form of a date that prints itself, and a time zone that there is not. */
function dateProblem({ name, args }: Filter): string | undefined {
  const zone = name === "date" ? textOf(args[1]) : undefined;
  const wrongZone = zone === undefined ? undefined : timezoneProblem(zone);
  if (wrongZone !== undefined) return wrongZone;
  const form = name === "date" ? textOf(args[0]) : undefined;
  if (form === undefined || form.includes("%")) return undefined;
  const better = withCodes(form);
  return `the date format "${form}" has no % code, so it prints itself and no date: write "${better.includes("%") ? better : "%Y-%m-%d"}"`;
}

/** `YYYY-MM-DD`, as other libraries write it, in the codes of strftime. */
function withCodes(form: string): string {
  return form
    .replace(/mm(?=:)|(?<=:)mm/g, "%M")
    .replace(/YYYY|yyyy/g, "%Y")
    .replace(/MMMM/g, "%B")
    .replace(/MMM/g, "%b")
    .replace(/MM|mm/g, "%m")
    .replace(/DD|dd/g, "%d")
    .replace(/HH/g, "%H")
    .replace(/hh/g, "%I")
    .replace(/ss/g, "%S");
}

/** The text of an argument that is written out. */
function textOf(argument: Filter["args"][number] | undefined): string | undefined {
  if (argument === undefined || Array.isArray(argument)) return undefined;
  const token = argument as { kind?: number; content?: unknown };
  return token.kind === liquid().TokenKind.Quoted && typeof token.content === "string" ? token.content : undefined;
}
