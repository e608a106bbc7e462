/** The subjects of commands, in the order in which `/help` and `hookgate --help` show them. The order within a subject is in `index.ts`. */
import type { CommandSpec } from "../src/domain/chat/command.js";

export const COMMAND_GROUPS = [
  { id: "start", title: "Start here" },
  { id: "hooks", title: "Hooks" },
  { id: "messages", title: "Messages and audit" },
  { id: "tasks", title: "Tasks" },
  { id: "alerts", title: "Alerts and SLAs" },
  // Commands of plugins have no subject.
  { id: "more", title: "More" },
] as const;

export type GroupId = (typeof COMMAND_GROUPS)[number]["id"];

/** The groups with their commands. Empty groups are left out. */
export function groupsOf<T extends Pick<CommandSpec, "group">>(specs: readonly T[]) {
  return COMMAND_GROUPS.map(({ id, title }) => ({
    id,
    title,
    specs: specs.filter(({ group = "more" }) => group === id),
  })).filter((group) => group.specs.length > 0);
}
