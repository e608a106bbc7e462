/** The commands by subject: for `/help`, and the order in which commands are listed everywhere. */
import type { CommandSpec } from "../src/domain/command.js";

interface CommandGroup {
  id: string;
  title: string;
  commands: readonly string[];
}

export const COMMAND_GROUPS: readonly CommandGroup[] = [
  { id: "start", title: "Start here", commands: ["help", "status", "whoami", "claim"] },
  { id: "hooks", title: "Hooks", commands: ["hooks", "runs", "run", "fire-hook", "replay"] },
  { id: "messages", title: "Messages and audit", commands: ["outbox", "pauses", "audit"] },
  { id: "tasks", title: "Tasks", commands: ["task", "add-task", "mission", "schedule", "gate"] },
  {
    id: "alerts",
    title: "Alerts and SLAs",
    commands: ["alerts", "ack", "snooze", "silence", "sla", "digest", "oncall"],
  },
];

/** What plugins add stands under no subject. */
const OTHERS = { id: "more", title: "More" };

/** The groups with their commands; those of no group are the last one. Empty groups are left out. */
export function groupsOf<T extends Pick<CommandSpec, "name">>(specs: readonly T[]) {
  const grouped = COMMAND_GROUPS.map(({ id, title, commands }) => ({
    id,
    title,
    specs: commands.flatMap((name) => specs.find((spec) => spec.name === name) ?? []),
  }));
  const rest = specs.filter(({ name }) => !COMMAND_GROUPS.some(({ commands }) => commands.includes(name)));
  return [...grouped, { ...OTHERS, specs: rest }].filter((group) => group.specs.length > 0);
}

export const GROUP_IDS = [...COMMAND_GROUPS.map(({ id }) => id), OTHERS.id];

/** In the order of the groups. */
export function inGroupOrder<T extends Pick<CommandSpec, "name">>(specs: readonly T[]): T[] {
  return groupsOf(specs).flatMap((group) => group.specs);
}
