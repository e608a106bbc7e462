/** The words of people: docs, messages and comments keep to the terms that an engineer searches for, and each sentence has its noun. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { proseOf } from "./prose.js";

const ROOT = resolve(import.meta.dirname, "../..");

/** Each with what to write in its place. The lists grow as more of the repository is clean. */
const EVERYWHERE: readonly [RegExp, string][] = [
  [/\b(?:who|which|whose?|whom)ever\b/i, "name the operator, sender, caller or plugin author"],
  [/\b(?:some|no)body\b|\bsomeone\b/i, "a person, no one, or the noun"],
  [/\bseldomer\b/i, "less often"],
  [/\bmend(?:s|ed|ing)?\b/i, "fix"],
  [/\breckon(?:s|ed|ing)?\b/i, "compute"],
  [/\bbegun\b/i, "started"],
  [/\bnot come to yet\b/i, "not reached yet"],
];
const IN_TEXTS: readonly [RegExp, string][] = [
  ...EVERYWHERE,
  [/\b(?:tells|told|telling)\b/i, "notify, report or show"],
  [/\b(?:says|said)\b/i, "show, report, print; the log shows, the user wrote"],
  [/\b(?:began|begins?|beginning)\b/i, "start"],
  [/\b(?:stands|stood)\b/i, "is"],
  [/\b(?:owed|owes)\b/i, "pending"],
  [/\b(?:hand(?:s|ed)?|tak(?:es?|en)) over\b/i, "enqueue, pass on; apply, assign"],
  [/\btak(?:es?|en) up\b/i, "claim or resume"],
  [/\b(?:is|are) over\b/i, "has ended"],
  [/\bfor good\b/i, "permanently, forever"],
  [/\banew\b/i, "again"],
  [/\bhear(?:s|d)\b/i, "received, read"],
  [/\bonce more\b/i, "again"],
  [/\bwhatever\b/i, "any, regardless of"],
  [/(?:^|[.:;] )Of [a-z]/, "start with the subject: For tasks, …; The duration of …"],
];
const IN_COMMENTS: readonly [RegExp, string][] = [
  ...EVERYWHERE,
  [/(?:\/\*\*?|\/\/|\*|[.:;]) What (?!to\b)[a-z]/, "start with the noun: The message that …; Input and output of …"],
];

interface Text {
  readonly place: string;
  readonly text: string;
}

function faults(texts: readonly Text[], words: readonly [RegExp, string][]): string[] {
  return texts.flatMap(({ place, text }) =>
    words.flatMap(([word, better]) => {
      const found = word.exec(text);
      return found ? [`${place}: "${found[0].trim()}" (better: ${better})`] : [];
    }),
  );
}

function filesIn(folder: string, ending: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => ending.test(name) && !name.includes("node_modules"))
    .map((name) => join(folder, name))
    .sort();
}

const withoutCode = (text: string) => text.replace(/`[^`]*`/g, "``");

/** Pages without their code: that may quote anything. */
function pages(): Text[] {
  const folders = ["docs", "src", "adapters"].flatMap((folder) => filesIn(folder, /\.md$/));
  const files = ["README.md", "SECURITY.md", "CONTRIBUTING.md", ...folders];
  return files.flatMap((file) => {
    let isCode = false;
    return readFileSync(join(ROOT, file), "utf8")
      .split("\n")
      .flatMap((line, index) => {
        if (line.startsWith("```")) isCode = !isCode;
        return isCode ? [] : [{ place: `${file}:${index + 1}`, text: withoutCode(line) }];
      });
  });
}

/** `not`: folders that are not clean yet. */
function prose(kind: "comment" | "string", folders: readonly string[], not: RegExp = /^$/): Text[] {
  return folders
    .flatMap((folder) => filesIn(folder, /\.(?:ts|js|mjs)$/))
    .filter((file) => !not.test(file))
    .flatMap((file) =>
      proseOf(readFileSync(join(ROOT, file), "utf8"))
        .filter((one) => one.kind === kind)
        .map(({ line, text }) => ({ place: `${file}:${line}`, text: kind === "comment" ? withoutCode(text) : text })),
    );
}

/** A string that people may read has words between spaces; column names and statements of SQL have them, too. */
const isSentence = ({ text }: Text) =>
  / \w/.test(text) && !/\b(?:SELECT|UPDATE|INSERT|DELETE|BEGIN)\b|\w_\w+, \w/.test(text);

describe("plain English", () => {
  it("the pages have none of the words to avoid", () => {
    const texts = pages();
    expect(texts.length).toBeGreaterThan(3_000);
    expect(faults(texts, IN_TEXTS)).toEqual([]);
  });

  it("messages, settings, hints and log lines have none of the words to avoid", () => {
    const texts = prose("string", ["src", "adapters", "commands", "scripts"]).filter(isSentence);
    expect(texts.length).toBeGreaterThan(5_000);
    expect(faults(texts, IN_TEXTS)).toEqual([]);
  });

  it("comments have none of the words to avoid", () => {
    const texts = prose("comment", ["src", "adapters", "commands", "scripts", "bench"], /src\/loader|scripts\/bundle/);
    expect(texts.length).toBeGreaterThan(4_000);
    expect(faults(texts, IN_COMMENTS)).toEqual([]);
  });

  it("a fault names its file and its line", () => {
    const insert = '{a / 2 ? "it is mended" : /"/.source}';
    const source = `const a = 1;\n/* Whoever\n * asks. */\nconst b = \`x $${insert} reckoned\`;\n`;
    const places = proseOf(source).map(({ line, text }) => ({ place: `a.ts:${line}`, text }));
    expect(faults(places, EVERYWHERE)).toEqual([
      'a.ts:2: "Whoever" (better: name the operator, sender, caller or plugin author)',
      'a.ts:4: "mended" (better: fix)',
      'a.ts:4: "reckoned" (better: compute)',
    ]);
  });
});
