/** Matchers of silences, routes and rules, written as operators know them: `severity=critical`, `policy=~first.*`, `queue!=spam`. */

import { RE2JS } from "re2js";
import { type Alert, SEVERITIES } from "../domain/alerts/alert.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { definedOf } from "../lib/without-undefined.js";

export type Matcher = (labels: Labels) => boolean;
export type Labels = Readonly<Record<string, string>>;

/** The labels that matchers see: the alert's own labels, and those that every alert has. */
export function labelsOf({ id, severity, signal }: Pick<Alert, "id" | "severity" | "signal">): Labels {
  const { source, entity, clock, labels, fingerprint } = signal;
  const given: Record<LabelName, string | undefined> = {
    id,
    fingerprint,
    severity,
    source: source.kind,
    "source.id": source.id,
    policy: source.policyId,
    entity: entity?.type,
    "entity.id": entity?.id,
    clock: clock?.name,
  };
  return { ...labels, ...definedOf(given) };
}

/** Labels that every alert may have besides its own. */
const LABEL_NAMES = [
  "id",
  "fingerprint",
  "severity",
  "source",
  "source.id",
  "policy",
  "entity",
  "entity.id",
  "clock",
] as const;
type LabelName = (typeof LABEL_NAMES)[number];

const FORM = /^\s*([\w.:-]+)\s*(=~|!~|!=|=)\s*(?:"((?:[^"\\]|\\.)*)"|(.*?))\s*$/s;

/** Undefined for a text that is no matcher. */
function readMatcher(text: string): { name: string; operator: string; value: string } | undefined {
  const [, name = "", operator, quoted, bare = ""] = FORM.exec(text) ?? [];
  if (operator === undefined) return undefined;
  return { name, operator, value: quoted === undefined ? bare : quoted.replace(/\\(.)/g, "$1") };
}

/** Throws BAD_MATCHER. A label that the alert does not have is empty. */
export function parseMatcher(text: string): Matcher {
  const read = readMatcher(text);
  if (read === undefined)
    throw new HookgateError({
      code: "BAD_MATCHER",
      message: `expected a matcher such as severity=critical, policy=~first.* or queue!=spam, got "${text}"`,
    });
  const { name, operator, value } = read;
  const is = operator.endsWith("~") ? pattern(value, text) : (given: string) => given === value;
  const wanted = !operator.startsWith("!");
  return (labels) => is(labels[name] ?? "") === wanted;
}

/** An alert has to match all of them. An empty list matches every alert. */
export function parseMatchers(texts: readonly string[]): Matcher {
  const all = texts.map(parseMatcher);
  return (labels) => all.every((matches) => matches(labels));
}

function pattern(source: string, text: string): (given: string) => boolean {
  try {
    const compiled = RE2JS.compile(`^(?:${source})$`);
    return (given) => compiled.test(given);
  } catch (error) {
    throw new HookgateError({ code: "BAD_MATCHER", message: `"${text}": ${errorMessage(error)}`, cause: error });
  }
}

export function matcherProblem(text: string): string | undefined {
  try {
    parseMatcher(text);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/** Labels with few values, which come from the product: a value that no alert has had yet is not misspelt. */
const OWN_LABELS: readonly LabelName[] = ["source", "entity", "clock"];

/** Whether a matcher asks for an unknown value: none of these alerts has it, and no policy or severity. */
export function matchesUnknown(
  text: string,
  alerts: readonly Pick<Alert, "id" | "severity" | "signal">[],
  isPolicy: (id: string) => boolean,
): boolean {
  const { name, operator, value = "" } = readMatcher(text) ?? {};
  if (OWN_LABELS.some((one) => one === name) || operator?.startsWith("!")) return false;
  if (name === "policy" && isPolicy(value)) return false;
  const matches = parseMatcher(text);
  if (name === "severity" && SEVERITIES.some((severity) => matches({ severity }))) return false;
  return !alerts.some((alert) => matches(labelsOf(alert)));
}

/** The label that a matcher asks for, when none of these alerts has it; with all known labels. */
export function unknownLabel(
  text: string,
  alerts: readonly Pick<Alert, "id" | "severity" | "signal">[],
): { name: string; known: string[] } | undefined {
  const name = readMatcher(text)?.name;
  const known = new Set<string>([...LABEL_NAMES, ...alerts.flatMap((alert) => Object.keys(labelsOf(alert)))]);
  return name === undefined || known.has(name) ? undefined : { name, known: [...known] };
}

/** The policy that a matcher names, `policy=replies`; undefined when it names none, or by a pattern. */
export function policyOf(text: string): string | undefined {
  const { name, operator, value } = readMatcher(text) ?? {};
  return name === "policy" && operator === "=" ? value : undefined;
}
