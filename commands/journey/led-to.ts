/**
 * The firings that a message led to beside its own path: of points of plugins, tasks and missions, whose cause is the message or its task.
 */
import { type Cause, type DispatchRecord, rootOf } from "../../src/domain/journal.js";
import type { CommandDeps } from "../deps.js";
import { code } from "../show/text.js";

/** How many firings of the point are read at once, and how often: back to the message, and not further than this. */
const PAGE = 500;
const MAX_READS = 10;

/** Points that fire because of a message, and not for it. */
export const isLedTo = (point: string): boolean => /^(plugin|task|mission):/.test(point);

/** The messages, and the task that a command of each creates. */
export const withTasks = (roots: readonly string[]): string[] => [
  ...roots,
  ...roots.filter((id) => /^m\d+$/.test(id)).map((id) => `t_${id}`),
];

/** `roots`: messages, deliveries and tasks. */
export function isBecauseOf(roots: readonly string[], dispatchId: string, cause: Cause | undefined): boolean {
  return roots.includes(rootOf(dispatchId)) || (cause !== undefined && roots.includes(rootOf(cause.id)));
}

/**
 * Firings of the point that the roots led to, newest first. `since`: when the message came; dispatches that ended before that are not read.
 */
export async function ledToAt(
  { store: { journal } }: CommandDeps,
  point: string,
  roots: readonly string[],
  since: number,
): Promise<DispatchRecord[]> {
  const found: DispatchRecord[] = [];
  let before: string | undefined;
  for (let reads = 0; reads < MAX_READS; reads++) {
    const page = await journal.list({ point, before, limit: PAGE });
    found.push(...page.filter(({ id, cause }) => isBecauseOf(roots, id, cause)));
    const oldest = page.at(-1);
    if (oldest === undefined || page.length < PAGE || oldest.at + oldest.latencyMs < since) break;
    before = oldest.id;
  }
  return found;
}

/** Why nothing may be on record though it fired, when an earlier process handled the message: a sentence, in Markdown. */
export const lostText = (point: string): string =>
  `No firing of ${code(point)} for it is on record, and the gateway ended after that: what was not recorded by then is lost.`;

/** Where firings are that no message is named in: a sentence, in Markdown. */
export function unlinkedText(point: string): string {
  const all = `${code(`/runs ${point}`)} lists all firings.`;
  return point.startsWith("plugin:")
    ? `What a plugin fires in a command, a timer or a route is not linked to a message: ${all}`
    : all;
}
