/** A table as text in columns, for platforms without tables. */
import type { Table, TableCell } from "mdast";

/** Cells wider than this are not padded to, so that one long cell cannot blow up every row. */
const COLUMN_MAX = 40;
/** A table that would need more spaces than this is written without columns. */
const PADDING_MAX = 8_000;

/** A cell beyond the head is kept, without a column. */
export function tableText(table: Table, textOf: (cell: TableCell) => string): string {
  const rows = table.children.map((row) => row.children.map((cell) => textOf(cell).replace(/\s+/g, " ").trim()));
  const columns = rows[0]?.length ?? 0;
  const cells = rows.map((row) => row.map((text) => ({ text, width: width(text) })));
  const widest = Array.from({ length: columns }, (_, column) =>
    Math.min(
      COLUMN_MAX,
      cells.reduce((most, row) => Math.max(most, row[column]?.width ?? 0), 3),
    ),
  );
  const padding = cells.reduce(
    (sum, row) => row.reduce((all, cell, column) => all + Math.max(0, (widest[column] ?? 0) - cell.width), sum),
    0,
  );
  const widths = padding > PADDING_MAX ? widest.map(() => 3) : widest;
  // A row ends at its last cell: adding the missing cells would make a wide table of a few short lines enormous.
  const lines = cells.map((row) =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0, table.align?.[column] ?? null))
      .join(" | ")
      .trimEnd(),
  );
  const rule = widths.map((room) => "-".repeat(room)).join("-+-");
  return [lines[0] ?? "", rule, ...lines.slice(1)].join("\n");
}

interface Cell {
  text: string;
  width: number;
}

function pad({ text, width }: Cell, room: number, align: "left" | "right" | "center" | null): string {
  const missing = Math.max(0, room - width);
  if (align === "right") return " ".repeat(missing) + text;
  if (align === "center") return " ".repeat(missing >> 1) + text + " ".repeat(missing - (missing >> 1));
  return text + " ".repeat(missing);
}

const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Extended_Pictographic}/u;

/** Columns on a screen: wide characters count twice, combining ones not at all. */
function width(text: string): number {
  let columns = 0;
  for (const character of text) columns += WIDE.test(character) ? 2 : /\p{M}|\u200D|\uFE0F/u.test(character) ? 0 : 1;
  return columns;
}
