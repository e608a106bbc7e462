/** A YAML text with the places of what is in it, for errors that name a line. */
import { type Document, isMap, isScalar, LineCounter, parseDocument } from "yaml";

export interface Position {
  line?: number;
  column?: number;
}

export type YamlPath = readonly (string | number)[];

export interface YamlSource {
  /** Plain JSON; undefined for an empty text. Not to be used when there are errors. */
  value: unknown;
  errors: (Position & { message: string })[];
  /** Where a value stands, or what is nearest above it; with `ofKey` where its key does. */
  placeOf(path: YamlPath, ofKey?: boolean): Position;
}

export function parseYaml(text: string): YamlSource {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  return {
    value: document.errors.length > 0 ? undefined : (document.toJS() ?? undefined),
    errors: document.errors.map(({ pos, message }) => {
      const { line, col } = lines.linePos(pos[0]);
      return { line, column: col, message };
    }),
    placeOf: (path, ofKey = false) => placeOf(document, lines, path, ofKey),
  };
}

function placeOf(document: Document, lines: LineCounter, path: YamlPath, ofKey: boolean): Position {
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
