/** `command:` and `sh:`: a program looks at the work. The task is on its standard input as JSON; nothing of it reaches a command line. */
import { resolve } from "node:path";
import type { ExpectationOf } from "../../../domain/orchestrator/expectation.js";
import { type CheckContext, type Found, notSo } from "./check.js";
import { checkText, excerpt } from "./text.js";

const MAX_BYTES = 256 * 1024;

export async function checkProgram(
  expected: ExpectationOf<"command"> | ExpectationOf<"sh">,
  { task, processes, folder, timeoutMs, signal }: CheckContext,
): Promise<Found> {
  const [command = "/bin/sh", ...args] = "command" in expected ? expected.command : ["/bin/sh", "-c", expected.sh];
  const end = await processes.run({
    command,
    args,
    cwd: resolve(folder, expected.cwd ?? "."),
    env: {
      HOOKGATE_TASK_ID: task.id,
      HOOKGATE_MISSION_ID: task.missionId ?? "",
      HOOKGATE_TASK_ATTEMPT: String(task.attempt),
    },
    stdin: JSON.stringify(task),
    timeoutMs,
    signal,
    maxBytes: MAX_BYTES,
  });
  if (end.how === "aborted") return { ...notSo("it was ended before it was done"), broken: true };
  if (end.how === "timed_out") return notSo("it did not end in time");
  if (end.how === "flooded") return notSo("it printed without end and was stopped");
  const wanted = expected.exit ?? 0;
  const ended = end.signal === null ? `exited with ${end.exitCode}` : `was ended by ${end.signal}`;
  if (end.exitCode !== wanted)
    return notSo(`it ${ended}, not with ${wanted}; its answer is ${excerpt(`${end.stdout}\n${end.stderr}`)}`);
  return checkText(end.stdout, expected, "its output");
}
