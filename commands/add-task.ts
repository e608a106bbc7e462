/** `/add-task TITLE`: gives somebody a task; oneself when nobody is named. */
import type { CommandSpec } from "../src/domain/command.js";
import type { Command } from "../src/gateway/commands.js";
import type { CommandDeps } from "./deps.js";
import { taskOptions } from "./task.js";
import { addTask } from "./tasks/add.js";

export const addTaskSpec: CommandSpec = {
  name: "add-task",
  summary: "Give a task to a runner or a person, or to yourself when you name no one",
  role: "operator",
  options: [
    { name: "title", summary: "What is to be done, in a line", type: "string", required: true, rest: true },
    {
      name: "to",
      also: ["assign", "assign-to", "assignto"],
      summary: "Who does it: a runner, or person:platform:id",
      type: "string",
      complete: "assignees",
    },
    ...taskOptions.map((option) => ({
      ...option,
      summary: option.summary.replace(/^add: /, "").replace(/; list: .*$/, ""),
    })),
  ],
};

export function addTaskCommand(deps: CommandDeps): Command {
  return {
    ...addTaskSpec,
    run: async (context) => addTask(deps, context, { to: "to", title: "title" }),
  };
}
