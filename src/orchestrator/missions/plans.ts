/** Reads plans from the YAML and JSON files of the folder `missions` beside the configuration, again whenever one is asked for. */
import { basename, extname, join } from "node:path";
import type { Plan } from "../../domain/orchestrator/plan.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { deadLinkAt } from "../../lib/files/dead-link.js";
import { isNoFolder, listFolder } from "../../lib/files/list-folder.js";
import { readTextFile } from "../../lib/files/text-file.js";
import { pathText, suggestion } from "../../lib/validation/schema-issues.js";
import { type Position, parseYaml } from "../../lib/validation/yaml-source.js";
import { checkPlan, type PlanSurroundings } from "./check-plan.js";

export interface PlanProblem extends Position {
  file: string;
  /** Within the plan: `groups.0.tasks.1.dependsOn.0`. */
  path: string;
  message: string;
}

export type PlanFile = { id: string; file: string } & (
  | { plan: Plan }
  /** `isFolder`: the folder cannot be read, so its plans are not known. */
  | { problems: PlanProblem[]; isFolder?: true }
);

export interface Plans {
  /** In order of name. A folder that cannot be read is the only entry. */
  list(): PlanFile[];
  /** The plan of this id. Throws PLAN_NOT_FOUND, or PLAN_INVALID with all problems. */
  need(id: string): Plan;
}

export function createPlans(folder: string, around: PlanSurroundings): Plans {
  const list = (): PlanFile[] => {
    const { entries, unread } = listFolder(folder);
    const message = unread ?? noFolder(folder);
    if (message !== undefined)
      return [{ id: basename(folder), file: folder, problems: [{ file: folder, path: "", message }], isFolder: true }];
    return planNames(entries).map((name) => readPlan(join(folder, name), around));
  };
  return {
    list: () => withoutDoubles(list()),
    need(id) {
      const files = withoutDoubles(list());
      const found = planOf(files, id);
      if (found === undefined)
        throw new HookgateError({
          code: "PLAN_NOT_FOUND",
          message: `There is no plan "${id}"${suggestion(
            id,
            files.map((file) => file.id),
          )}.`,
          hint: `Plans are the YAML and JSON files in ${folder ?? "the folder missions beside hookgate.yaml"}.`,
        });
      if ("plan" in found) return found.plan;
      throw invalidPlan(found, "Nothing was started. Fix the file and run it again.");
    },
  };
}

export function invalidPlan({ id, problems }: { id: string; problems: PlanProblem[] }, hint: string): HookgateError {
  return new HookgateError({
    code: "PLAN_INVALID",
    message: `The plan "${id}" has ${problems.length} problem${problems.length === 1 ? "" : "s"}:\n${problems.map(problemText).join("\n")}`,
    hint,
  });
}

export function problemText({ file, line, column, path, message }: PlanProblem): string {
  const place = [basename(file), line, column].filter((part) => part !== undefined).join(":");
  return `${place} ${path === "" ? "" : `${path}: `}${message}`;
}

/** Parses the text of a plan; `name` is the plan's id where the text has none. */
export function parsePlan(text: string, file: string, around: PlanSurroundings): PlanFile {
  const name = basename(file, extname(file));
  const { value, errors, placeOf } = parseYaml(text);
  if (errors.length > 0) return { id: name, file, problems: errors.map((error) => ({ file, path: "", ...error })) };
  const checked = checkPlan(value ?? {}, around);
  const id = idOf(value) ?? name;
  if ("plan" in checked) return { id, file, plan: checked.plan };
  const problems = checked.issues.map(({ path, message, ofKey }) => ({
    file,
    ...placeOf(path, ofKey),
    path: pathText(path),
    message,
  }));
  // Problems in the order of the file.
  problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  return { id, file, problems };
}

function readPlan(file: string, around: PlanSurroundings): PlanFile {
  try {
    return parsePlan(readTextFile(file), file, around);
  } catch (error) {
    const id = basename(file, extname(file));
    return { id, file, problems: [{ file, path: "", message: `cannot be read: ${errorMessage(error)}` }] };
  }
}

function noFolder(folder: string): string | undefined {
  if (isNoFolder(folder)) return "is a file, but plans are read from a folder of this name. Move or delete it.";
  return deadLinkAt(folder, { restore: "Mount or restore that folder", wanted: "the one with the plans" })?.message;
}

function planNames(entries: readonly { name: string }[]): string[] {
  return entries
    .map(({ name }) => name)
    .filter((name) => /\.(ya?ml|json)$/.test(name) && !name.startsWith("."))
    .sort();
}

export const isPlansFolder = (file: PlanFile) => "problems" in file && file.isFolder === true;

/** The plan of this id; where the folder cannot be read, with the problem of the folder. */
export function planOf(files: readonly PlanFile[], id: string): PlanFile | undefined {
  const found = files.find((file) => file.id === id || isPlansFolder(file));
  return found && { ...found, id };
}

/** Two files of one id: the second is broken, with that reason. */
function withoutDoubles(files: PlanFile[]): PlanFile[] {
  const taken = new Map<string, string>();
  return files.map((one): PlanFile => {
    const other = taken.get(one.id);
    if (other === undefined) {
      taken.set(one.id, one.file);
      return one;
    }
    const message = `the id "${one.id}" is taken by ${basename(other)}`;
    return { id: basename(one.file), file: one.file, problems: [{ file: one.file, path: "id", message }] };
  });
}

function idOf(value: unknown): string | undefined {
  const id = typeof value === "object" && value !== null && "id" in value ? value.id : undefined;
  return typeof id === "string" && id !== "" ? id : undefined;
}
