/** The JUnit report, which most runners can write: every `<testcase>` counts, and nothing else of it. */
import type { Tally } from "./tally.js";

export function readJunit(xml: string): Tally | undefined {
  if (!/<testsuites?[\s>/]/.test(xml)) return undefined;
  const cases = [...xml.replace(/<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>/g, "").matchAll(CASE)];
  const failed = cases.filter(([, , inside]) => /<(failure|error)[\s>/]/.test(inside ?? ""));
  const skipped = cases.filter(([, , inside]) => /<skipped[\s>/]/.test(inside ?? ""));
  return {
    runner: "junit",
    passed: cases.length - failed.length - skipped.length,
    failed: failed.length,
    skipped: skipped.length,
    failures: failed.map(([, attributes]) => nameOf(attributes as string)),
  };
}

const CASE = /<testcase\b((?:[^>"']|"[^"]*"|'[^']*')*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;

function nameOf(attributes: string): string {
  const attribute = (name: string) => {
    const [, double, single] = new RegExp(`\\b${name}=(?:"([^"]*)"|'([^']*)')`).exec(attributes) ?? [];
    return decoded(double ?? single ?? "");
  };
  return [attribute("classname"), attribute("name")].filter((part) => part !== "").join(" > ");
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function decoded(text: string): string {
  return text.replace(/&(lt|gt|quot|apos|amp);/g, (_, name: string) => ENTITIES[name] as string);
}
