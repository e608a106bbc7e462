/** Command lines of a hook's buttons that work, templates and forms among them: none of them is reported. */
import { expect, it } from "vitest";
import { commandSpecs } from "../../../commands/index.js";
import { commandProblems } from "../../../src/automations/handlers/chat/buttons.js";

const field = (id: string) => ({ id, label: "Words" });
const problems = (line: string, ...ids: string[]) =>
  commandProblems(
    [
      [
        {
          label: "Go",
          action: {
            kind: "command",
            line,
            form: ids.length === 0 ? undefined : { title: "Form", fields: ids.map(field) },
          },
        },
      ],
    ],
    commandSpecs,
    ["deploy", "shown"],
  );

it.each([
  "/status",
  "/task",
  "/task show {{ event.task.id }}",
  "/task {{ event.reason }}",
  "/task add me title",
  "/task add {{ event.task.assignTo }} text={{ event.task.title }} priority={{ event.attempt }} draft=yes",
  "/add-task title={{ event.message.text }}",
  // A press asks which.
  "/task done",
  "/fire-hook",
  "/hooks pause",
  "/hooks why",
  "/hooks on",
  "/hooks frob",
  "/hooks shown",
  "/hooks {{ event.hookId }}",
  "/fire-hook {{ event.hookId }}",
  '/fire-hook deploy {"x": 1}',
  "/silence add policy=replies 2h moving the queue",
  '/schedule add nightly "0 3 * * *"',
  "/gate release {{ event.missionId }} {{ event.gateName }} it is fine",
])("%s is not reported", (line) => {
  expect(problems(line)).toEqual([]);
});

it("what a form asks for is not missing", () => {
  expect(problems("/task add", "id", "text")).toEqual([]);
  expect(problems("/add-task", "title", "priority")).toEqual([]);
  expect(problems("/gate release m_1 quality", "reason")).toEqual([]);
  expect(problems("/gate release m_1 quality")).toEqual([
    'the button "Go": "/gate release m_1 quality" cannot work: release needs the option "reason"',
  ]);
});
