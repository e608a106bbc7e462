/** `/add-task TITLE`: gives a task to a person or a runner; without a name, to the person who gives the command. */
import { defineCommand } from "./define.js";
import { taskOptions } from "./task.js";
import { addTask as createTask } from "./tasks/add.js";

const capitalised = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

export const addTask = defineCommand({
  name: "add-task",
  group: "tasks",
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
      summary: capitalised(option.summary.replace(/^add: /, "").replace(/; list: .*$/, "")),
    })),
  ],
  run: async (deps, context) => createTask(deps, context, { to: "to", title: "title" }),
});
