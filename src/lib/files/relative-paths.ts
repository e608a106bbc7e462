/** Texts for people who are not at the machine: a file is named from the folder of the configuration on, never by its whole path. */

export type RelativePaths = (text: string) => string;

/** `folders`: those of this installation. A path inside one of them becomes relative; the first one wins where one is inside another. */
export function relativePaths(folders: readonly string[]): RelativePaths {
  const own = folders.filter((folder, index) => {
    const isInside = folders.slice(0, index).some((other) => `${folder}/`.startsWith(`${other}/`));
    return folder.length > 1 && !isInside;
  });
  if (own.length === 0) return (text) => text;
  const folder = own.map(escaped).join("|");
  const inside = new RegExp(`(?<![\\w.~/-])(?:file://)?(?:${folder})[/\\\\]+(?=[\\w.@-])`, "g");
  const itself = new RegExp(`(?<![\\w.~/-])(?:file://)?(?:${folder})(?![\\w/\\\\-])`, "g");
  return (text) => text.replace(inside, "").replace(itself, ".");
}

/** With a backslash before any sign, as Markdown has it. */
function escaped(folder: string): string {
  return folder.replace(/[^\w/]|_/g, (sign) => `\\\\?${sign.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&")}`);
}

/** A copy of the value with each of its texts changed; parts that are not plain data are left. */
export function mapTexts<T>(value: T, change: (text: string) => string): T {
  return map(value, change) as T;
}

function map(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((one) => map(one, change));
  if (typeof value !== "object" || value === null) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype && Object.getPrototypeOf(value) !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, map(one, change)]));
}
