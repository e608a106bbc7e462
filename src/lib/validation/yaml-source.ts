/**
 * A YAML text with the places of its values, for errors that name a line. Values are read by js-yaml, which is eight times quicker;
 * positions by `yaml`, when one is needed. Both read YAML 1.2's core schema.
 */
import { CORE_SCHEMA, load } from "js-yaml";
import type { Document, LineCounter } from "yaml";
import { once, packageOnFirstUse } from "../concurrency/on-first-use.js";
import { errorMessage } from "../errors.js";
import { wordsFor, type YamlFault } from "./yaml-words.js";

const yaml = packageOnFirstUse<typeof import("yaml")>("yaml");

export interface Position {
  line?: number;
  column?: number;
}

export type YamlPath = readonly (string | number)[];

export interface YamlSource {
  /** Plain JSON; undefined for an empty text. Not to be used when there are errors. */
  value: unknown;
  errors: (Position & { message: string })[];
  /** The place of a value, or of the nearest one above it; with `ofKey` the place of its key. The first call reads the text again. */
  placeOf(path: YamlPath, ofKey?: boolean): Position;
  /** A value as it is written, whose digits a number may not hold; undefined for a list or a map. */
  writtenAt(path: YamlPath): string | undefined;
  /**
   * In their order: the items of its list, or of the list under `key` and the settings beside `key`, or the one value that it is.
   * Undefined when errors leave none of them readable.
   */
  entries(key: string): YamlEntry[] | undefined;
}

/** A part of a text, maybe with errors elsewhere or of its own. */
export interface YamlEntry {
  /** With errors: the part that could be read. */
  value: unknown;
  /** The path ends in the name of a setting when the entry is beside the list. */
  path: YamlPath;
  errors: (Position & { message: string })[];
  /** An error that may have swallowed the text after it. */
  mayHideOthers: boolean;
  /** From its start to that of the next one; only of a text with errors. */
  text: string;
}

export function parseYaml(marked: string): YamlSource {
  const text = marked.replace(/^\uFEFF/, "");
  const positioned = once(() => {
    const { LineCounter, parseDocument } = yaml();
    const lines = new LineCounter();
    return { lines, document: parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: "error" }) };
  });
  const read = quickly(text) ?? slowly(positioned(), text);
  return {
    ...read,
    placeOf(path, ofKey = false) {
      const { document, lines } = positioned();
      return placeOf(document, lines, path, ofKey);
    },
    writtenAt(path) {
      const node = positioned().document.getIn(path, true);
      return yaml().isScalar(node) ? node.source : undefined;
    },
    entries: (key) => (read.errors.length === 0 ? valueEntries(read.value, key) : tornEntries(positioned(), text, key)),
  };
}

type Read = Pick<YamlSource, "value" | "errors">;

/** Undefined when something is wrong: the other parser finds the error and its place. */
function quickly(text: string): Read | undefined {
  try {
    return { value: load(text, { schema: CORE_SCHEMA }) ?? undefined, errors: [] };
  } catch {
    return undefined;
  }
}

/** In place of the words of the parser. */
const PLAIN: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS:
    "--- starts a second document here, and only one is read from a file: remove this line. Several entries are one list, each with - before it",
  BAD_ALIAS: "* and & start names of parts of the file: write a text that starts with one of them in quotes",
  BAD_DQ_ESCAPE:
    'in "…" a backslash starts an escape such as \\n, and this is none: write the text in single quotes, or the backslash twice',
};

interface Positioned {
  document: Document;
  lines: LineCounter;
}

/** The errors of the parser, and the aliases (`*name`) without an `&name` in the file, in their order. */
function faultsOf(document: Document): YamlFault[] {
  const faults: YamlFault[] = [...document.errors];
  yaml().visit(document, {
    Alias(_, node) {
      if (node.resolve(document) !== undefined || !node.range) return;
      const [from, to] = node.range;
      const message = `*${node.source} refers to &${node.source}, which is not defined before it in this file: write a text that starts with * in quotes`;
      faults.push({ pos: [from, to], code: NO_ANCHOR, message });
    },
  });
  return faults.sort((one, other) => one.pos[0] - other.pos[0]);
}

const NO_ANCHOR = "NO_ANCHOR";
/** The text behind these errors is read as it is. */
const CONTAINED: ReadonlySet<string> = new Set(["DUPLICATE_KEY", NO_ANCHOR]);

function slowly({ document, lines }: Positioned, text: string): Read {
  const errors = withoutEchoes(faultsOf(document), lines, text);
  if (errors.length > 0) return { value: undefined, errors };
  try {
    return { value: document.toJS() ?? undefined, errors };
  } catch (thrown) {
    // Aliases that would make too much of it.
    return { value: undefined, errors: [{ line: 1, column: 1, message: errorMessage(thrown) }] };
  }
}

/** Leaves out errors that follow from an earlier slip: at its place, in a line with a wrong tab, or with the same words in one line. */
function withoutEchoes(faults: readonly YamlFault[], lines: LineCounter, text: string): Read["errors"] {
  const seen = new Set<string>();
  return faults.flatMap((fault) => {
    const error = placed(fault, lines, text);
    const { line, column, message } = error;
    const marks = [`${line}:${column}`, `${line} ${message}`];
    if ([...marks, `${line} tab`].some((mark) => seen.has(mark))) return [];
    for (const mark of [...marks, ...(fault.code === "TAB_AS_INDENT" ? [`${line} tab`] : [])]) seen.add(mark);
    return [error];
  });
}

function placed(fault: YamlFault, lines: LineCounter, text: string): Position & { message: string } {
  const { line, col } = lines.linePos(fault.pos[0]);
  return { line, column: col, message: PLAIN[fault.code] ?? wordsFor(fault, text) ?? fault.message };
}

function valueEntries(value: unknown, key: string): YamlEntry[] {
  const entry = (path: YamlPath, one: unknown) => ({ value: one, path, errors: [], mayHideOthers: false, text: "" });
  if (Array.isArray(value)) return value.map((one, index) => entry([index], one));
  const settings = Object.entries(value ?? {});
  if (!settings.some(([name, one]) => name === key && Array.isArray(one))) return [entry([], value)];
  return settings.flatMap(([name, one]) =>
    name === key ? (one as unknown[]).map((item, index) => entry([key, index], item)) : [entry([name], one)],
  );
}

/** An error belongs to the entry in which it is, and to the next one where it reaches that: neither may be complete. */
function tornEntries({ document, lines }: Positioned, text: string, key: string): YamlEntry[] | undefined {
  const { isNode } = yaml();
  const parts = partsOf(document, key);
  const starts = parts.map(({ start }) => (isNode(start) ? start.range?.[0] : undefined));
  const [first] = starts;
  const faults = faultsOf(document);
  if (first === undefined || starts.includes(undefined) || faults.some(({ pos }) => pos[0] < first)) return undefined;
  return parts.map(({ node, path }, index) => {
    const start = starts[index] ?? 0;
    const end = starts[index + 1];
    const own = faults.filter(({ pos }) => (end === undefined || pos[0] < end) && pos[1] >= start);
    return {
      value: readableValue(node, document),
      path,
      errors: own.map((error) => placed(error, lines, text)),
      mayHideOthers: own.some(({ code }) => !CONTAINED.has(code)),
      text: text.slice(start, end),
    };
  });
}

interface DocumentPart {
  node: unknown;
  path: YamlPath;
  /** The node with which it starts. */
  start: unknown;
}

/** None when it is neither a list nor a map, or when the list is empty: its entries may be outside by mistake. */
function partsOf({ contents }: Document, key: string): DocumentPart[] {
  const { isMap, isSeq } = yaml();
  const items = (list: unknown[], under: YamlPath) =>
    list.map((node, index) => ({ node, path: [...under, index], start: node }));
  if (isSeq(contents)) return items(contents.items, []);
  if (!isMap(contents)) return [];
  const listed = contents.get(key, true);
  if (!isSeq(listed)) return [{ node: contents, path: [], start: contents }];
  if (listed.items.length === 0) return [];
  // A second list under `key` is an error, which belongs to the last entry of the first.
  const pairs = contents.items.filter((pair) => pair.value === listed || String(pair.key) !== key);
  return pairs.flatMap(({ key: name, value }) =>
    value === listed ? items(listed.items, [key]) : [{ node: value, path: [String(name)], start: name }],
  );
}

function readableValue(node: unknown, document: Document): unknown {
  const { isMap, isNode } = yaml();
  try {
    return isNode(node) ? node.toJS(document) : undefined;
  } catch {
    // An alias without its anchor: the settings beside it can be read, the id among them.
    if (!isMap(node)) return undefined;
    return Object.fromEntries(node.items.map(({ key, value }) => [String(key), readableValue(value, document)]));
  }
}

function placeOf(document: Document, lines: LineCounter, path: YamlPath, ofKey: boolean): Position {
  const { isMap, isScalar } = yaml();
  for (let depth = path.length; depth >= 0; depth--) {
    const parent = depth > 0 ? document.getIn(path.slice(0, depth - 1), true) : undefined;
    const step = path[depth - 1];
    const pair = isMap(parent)
      ? parent.items.find((item) => isScalar(item.key) && String(item.key.value) === String(step))
      : undefined;
    const node =
      ofKey && pair
        ? pair.key
        : depth > 0
          ? (document.getIn(path.slice(0, depth), true) ?? pair?.key)
          : document.contents;
    if (node && typeof node === "object" && "range" in node && Array.isArray(node.range)) {
      const { line, col } = lines.linePos(node.range[0]);
      return { line, column: col };
    }
  }
  return {};
}
