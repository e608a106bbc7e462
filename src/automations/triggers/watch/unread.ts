/** Folders of a selection that cannot be read: the changes in them are not seen. */
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { listFolder, unreadAt, whyUnread } from "../../../lib/files/list-folder.js";
import type { Selection } from "./selection.js";

/** Folders, each with the reason. */
export type Unread = ReadonlyMap<string, string>;

/** For a check, a bigger tree is not looked through to its end. */
const MAX_FOLDERS = 20_000;

/** The obstacle to watching all of a selection. A file is watched by its folder, and so is a path that is not there yet. */
export async function blockOf({ root }: Pick<Selection, "root">): Promise<Unread | undefined> {
  const isFolder = await stat(root).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  const at = (await unreadAt(root)) ?? (isFolder ? undefined : await unreadAt(dirname(root)));
  return at && new Map([at]);
}

/** For a check, which watches nothing. */
export async function unreadIn(selection: Selection): Promise<Unread> {
  const unread = new Map(await blockOf(selection));
  const folders = unread.size > 0 ? [] : [selection.root];
  for (const folder of folders) {
    const { entries } = listFolder(folder);
    const entered = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
    for (const one of entered.filter(selection.enters)) {
      const why = whyUnread(one);
      if (why !== undefined) unread.set(one, why);
      else if (folders.length < MAX_FOLDERS) folders.push(one);
    }
  }
  return unread;
}

export function unreadText({ pattern }: Pick<Selection, "pattern">, unread: Unread): string | undefined {
  const [first] = unread;
  if (first === undefined) return undefined;
  const [folder, why] = first;
  const others = unread.size === 1 ? "" : ` The same applies to other folders (${unread.size - 1}).`;
  return `${pattern} is not watched in ${folder}, which ${why}${others}`;
}
