/**
 * Expectations as people write them in chat: the YAML (or JSON) of a plan, one or a list. No program comes from chat: programs are in
 * files.
 */

import type { Role } from "../../src/domain/chat/identity.js";
import {
  EXPECTATION_KINDS,
  type Expectation,
  type ExpectationKind,
  expectation,
} from "../../src/domain/orchestrator/expectation.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import { issuesOf, pathText } from "../../src/lib/validation/schema-issues.js";
import { parseYaml } from "../../src/lib/validation/yaml-source.js";
import { badUsage } from "../answer.js";
import type { TaskDesk } from "./desk.js";

const MOST = 50;
/** An address is asked from our network. A file is read from our disk, where the secrets are, too: only owners name one. */
const ROLES: Readonly<Record<Exclude<ExpectationKind, "command" | "sh">, Role>> = {
  when: "operator",
  judge: "operator",
  file: "owner",
  http: "admin",
};
const HINT =
  'Such as expect="when: result.ok", expect="judge: It answers the question", or a list: [{when: …}, {file: out.zip}].';

export function expectationsFrom(text: string, context: CommandContext, desk: TaskDesk): Expectation[] {
  const { value, errors } = parseYaml(text);
  const [error] = errors;
  if (error) throw badUsage(`\`expect\` cannot be read: ${error.message}`, HINT);
  const all: unknown[] = Array.isArray(value) ? value : [value];
  if (all.length > MOST) throw badUsage(`A task has ${MOST} expectations at most.`);
  return all.map((one, index) =>
    expectationFrom(one, all.length === 1 ? "`expect`" : `\`expect\` number ${index + 1}`, context, desk),
  );
}

function expectationFrom(value: unknown, name: string, context: CommandContext, desk: TaskDesk): Expectation {
  const parsed = expectation.safeParse(value);
  if (!parsed.success) {
    const [issue] = issuesOf(parsed.error, []);
    const path = issue === undefined ? "" : pathText(issue.path);
    throw badUsage(`${name}${path === "" ? "" : `, ${path}`}: ${issue?.message ?? "it is none"}.`, HINT);
  }
  const kind = EXPECTATION_KINDS.find((one) => Object.hasOwn(parsed.data, one)) as ExpectationKind;
  if (kind === "command" || kind === "sh")
    throw badUsage(
      `${name}: a program that checks is named in a file, never in chat.`,
      "Put the task into a plan in the folder missions, and start it with /mission run.",
    );
  context.need(ROLES[kind]);
  const problem = desk.expectationProblem(parsed.data);
  if (problem !== undefined) throw badUsage(`${name}: ${problem}`, HINT);
  return parsed.data;
}
