/** Reads hookgate.yaml: every problem at once, each with its file, its line, the expected value and the actual one. */
import { dirname, join, resolve } from "node:path";
import { hooksFolderProblem } from "../automations/definition/sources.js";
import type { PlatformName } from "../domain/chat/platform.js";
import { errorMessage } from "../lib/errors.js";
import { deadLinkAt } from "../lib/files/dead-link.js";
import { fileMarkSync, markText } from "../lib/files/file-mark.js";
import { isMissing, namesIn } from "../lib/files/list-folder.js";
import { readTextFile } from "../lib/files/text-file.js";
import { nearest } from "../lib/validation/nearest.js";
import { type FoundIssue, parseAll, valueAt } from "../lib/validation/parse-all.js";
import { EMPTY, PLAIN, shown, typeName } from "../lib/validation/plain-issues.js";
import { keysAt } from "../lib/validation/schema-keys.js";
import { type Position, parseYaml, type YamlPath, type YamlSource } from "../lib/validation/yaml-source.js";
import { crossProblems } from "./cross.js";
import { type Environment, isOfPlatform, readEnvironment } from "./env.js";
import { type Config, configSchema, platformOf } from "./schema.js";

export interface ConfigProblem {
  /** The only platform that it concerns: that one is off until it is fixed, and the others go on. */
  platform?: PlatformName;
  /** The only event that it concerns: that one is refused until it is fixed, and hooks on it are broken. */
  event?: string;
  /** The index under `web.people` of the only person that it concerns: that one cannot log in until it is fixed. */
  person?: number;
  /** The file, or `environment`. */
  file: string;
  line?: number | undefined;
  column?: number | undefined;
  /** `discord.access.dms`, or the variable's name. */
  path: string;
  message: string;
  expected?: string;
  got?: string;
}

export interface LoadedConfig {
  /**
   * Absent when there are problems that concern more than one platform or event. Its settings of a platform with problems must not
   * be used; events with problems are left out.
   */
  config?: Config;
  env?: Environment;
  /** The right parts of both, next to problems elsewhere: for further checks, never for a start. Undefined when the file cannot be read. */
  draft?: { config: Config; env: Environment };
  /** The file that was read; undefined when there is none and defaults hold. */
  file?: string;
  /** How the file was before it was read: its `markText`. */
  mark?: string;
  problems: ConfigProblem[];
  /** The sections at the top of the file: `telegram`, `hooks`. */
  sections?: readonly string[];
  /** Where a setting of `config` or `draft` is in the file, for problems that are found later. */
  placeOf?: (path: YamlPath, ofKey?: boolean) => Position;
  /** The path in the file of a setting of `draft`, whose lists are shorter where entries are wrong. */
  pathOf?: (path: YamlPath) => YamlPath;
  /** Whether a problem that is found later only follows from a part that `draft` lacks: its message names that part. */
  isFollowUp?: (message: string) => boolean;
}

export interface LoadOptions {
  /** `--config`, before HOOKGATE_CONFIG. */
  path?: string;
  /** Replaces the process's environment and `.env`. */
  env?: Record<string, string | undefined>;
}

const DEFAULT_FILE = "hookgate.yaml";

/** The file that was read or, when there is none yet, where it is looked for. */
export const placeOfConfig = ({ file }: Pick<LoadedConfig, "file">): string => file ?? resolve(DEFAULT_FILE);

/** An editor, a full disk or a deployment that stopped halfway leaves such a file. */
const BLANK = "the file is empty: write the settings again. A line with a comment (#) alone means the defaults";

/** The default file under a name that is not read. */
function misnamed(file: string): ConfigProblem[] {
  const name = namesIn(dirname(file)).find((found) => /^hookgate\.(ya?ml|json)$/i.test(found));
  if (name === undefined) return [];
  const message = `a file of this name is not read: rename it to ${DEFAULT_FILE}, or name it in HOOKGATE_CONFIG`;
  return [{ file: join(dirname(file), name), path: "", message }];
}

export function loadConfig(options: LoadOptions = {}): LoadedConfig {
  const { env, rest, problems: envProblems } = readEnvironment(options.env);
  const problems: ConfigProblem[] = envProblems.map(({ variable, message }) => ({
    file: "environment",
    path: variable,
    message,
    ...only(isOfPlatform(variable) ? platformOf(variable.split("_")[0]?.toLowerCase()) : undefined),
  }));
  const named = options.path ?? rest.HOOKGATE_CONFIG;
  const file = resolve(named ?? DEFAULT_FILE);
  const dead = deadLinkAt(file, { restore: "Restore that file", wanted: "the one to use" });
  if (dead) return finish(undefined, env, file, [...problems, { file, path: "", message: dead.message }]);
  if (isMissing(file)) {
    if (named)
      problems.push({ file, path: "", message: "there is no such file", expected: "a YAML file", got: "nothing" });
    else problems.push(...misnamed(file));
    problems.push(...hooksFolderProblem(file));
    const config = configSchema.parse({}, PLAIN);
    return { ...finish(config, env, undefined, problems), draft: { config, env: rest } };
  }
  const mark = markText(fileMarkSync(file));
  const { config, draft, sections, placeOf, pathOf, isFollowUp, ...read } = readYaml(file);
  problems.push(...read.problems, ...hooksFolderProblem(file));
  for (const { path: draftPath, ofKey, ...problem } of draft === undefined ? [] : crossProblems(draft, rest)) {
    if (isFollowUp?.(problem.message)) continue;
    const path = pathOf?.(draftPath) ?? draftPath;
    problems.push({
      file,
      ...placeOf?.(draftPath, ofKey),
      path: path.join("."),
      ...problem,
      ...(problem.person === undefined ? onlyOf(path) : undefined),
    });
  }
  return {
    ...finish(config, env, file, problems),
    mark,
    draft: draft && { config: draft, env: rest },
    sections,
    placeOf,
    pathOf,
    isFollowUp,
  };
}

function finish(
  config: Config | undefined,
  env: Environment | undefined,
  file: string | undefined,
  problems: ConfigProblem[],
): LoadedConfig {
  const isUsable = !problems.some(isOfAll);
  const whole = isUsable && config && env ? { config: { ...config, events: soundOf(config, problems) }, env } : {};
  return { ...whole, file: file || undefined, problems };
}

interface ReadFile
  extends Pick<LoadedConfig, "config" | "problems" | "sections" | "placeOf" | "pathOf" | "isFollowUp"> {
  draft?: Config;
}

function readYaml(file: string): ReadFile {
  let source: string;
  try {
    source = readTextFile(file);
  } catch (error) {
    return { problems: [{ file, path: "", message: `cannot be read: ${errorMessage(error)}` }] };
  }
  if (source.trim() === "") return { problems: [{ file, path: "", message: BLANK }] };
  const yaml = parseYaml(source);
  if (yaml.errors.length > 0) return { problems: yaml.errors.map((error) => ({ file, ...error, path: "" })) };
  const raw = yaml.value ?? {};
  const { data, draft, issues, originalOf, isFollowUp } = parseAll(configSchema, raw);
  const problems = issues.flatMap((issue) => problemsOf(issue, file, yaml));
  const config = data ?? withoutBroken(raw, problems);
  return {
    config,
    draft,
    problems,
    sections: Object.keys(raw),
    placeOf: (path, ofKey) => yaml.placeOf(originalOf(path), ofKey),
    pathOf: originalOf,
    isFollowUp,
  };
}

function soundOf({ events }: Config, problems: readonly ConfigProblem[]): Config["events"] {
  return Object.fromEntries(Object.entries(events).filter(([name]) => brokenEvent(name, problems) === undefined));
}

/** With the defaults for platforms whose sections have problems, and without events that have; undefined when something else has, too. */
function withoutBroken(raw: unknown, problems: readonly ConfigProblem[]): Config | undefined {
  if (problems.some(isOfAll)) return undefined;
  const isBroken = (section: string) => {
    const own = platformOf(section);
    return own !== undefined && problems.some(({ platform }) => platform === own);
  };
  const { events, ...rest } = Object(raw);
  const sections = Object.entries(rest).filter(([section]) => !isBroken(section));
  const sound = Object.entries(Object(events)).filter(([name]) => brokenEvent(name, problems) === undefined);
  const whole = { ...Object.fromEntries(sections), events: Object.fromEntries(sound) };
  return parseAll(configSchema, whole).data;
}

/** The problem concerns more than one platform, event or person: nothing can start. */
export function isOfAll({ platform, event, person }: ConfigProblem): boolean {
  return platform === undefined && event === undefined && person === undefined;
}

const only = (platform: PlatformName | undefined) => (platform ? { platform } : {});

/** The one part that a setting concerns. */
function onlyOf([section, name]: readonly (string | number)[]): Pick<ConfigProblem, "platform" | "event"> {
  return section === "events" && typeof name === "string" ? { event: name } : only(platformOf(section));
}

/** An unknown key is reported by name and place; anything else by its value's place. */
function problemsOf({ path, issue }: FoundIssue, file: string, yaml: YamlSource): ConfigProblem[] {
  const ofPart = onlyOf(path);
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => {
      const known = keysAt(configSchema, path);
      const near = nearest(key, known);
      return {
        file,
        ...yaml.placeOf([...path, key], true),
        path: [...path, key].join("."),
        message: `unknown setting "${key}"${near ? ` (did you mean "${near}"?)` : ""}`,
        expected: known.length > 0 ? `one of ${known.join(", ")}` : undefined,
        got: key,
        ...ofPart,
      };
    });
  const values = "values" in issue && Array.isArray(issue.values) ? issue.values.map(String) : [];
  const typeExpected = "expected" in issue ? typeName(String(issue.expected)) : undefined;
  const value = valueAt(yaml.value, path);
  const isEmpty = value === null && path.length > 0;
  const isRounded = Number.isInteger(value) && !Number.isSafeInteger(value);
  const got = (isRounded && yaml.writtenAt(path)) || shown(value);
  return [
    {
      file,
      ...yaml.placeOf(path),
      path: path.join("."),
      message: isEmpty ? EMPTY : issue.message.replace(shown(value), got),
      expected: values.length > 0 ? values.join(" | ") : typeExpected,
      ...ofPart,
      got: isEmpty ? undefined : got,
    },
  ];
}

/** Why a platform is off, in short and without values: `/status` and `/readyz` show it. Undefined when it is not. */
export function brokenPlatform(platform: PlatformName, problems: readonly ConfigProblem[]): string | undefined {
  const own = problems.filter((problem) => problem.platform === platform);
  if (own.length === 0) return undefined;
  return `misconfigured: ${own.map(({ path, message }) => `${path}: ${message}`).join("; ")}`;
}

/** The settings that refuse an event, each of which has a problem of its own; undefined when none does. */
export function brokenEvent(name: string, problems: readonly ConfigProblem[]): string | undefined {
  const own = new Set(problems.flatMap(({ event, path }) => (event === name ? path : [])));
  return own.size === 0 ? undefined : [...own].join(" and ");
}

/** One line: `hookgate.yaml:12:5 discord.access.dms: "nobody" is not known here (expected …)`. No fact is written twice. */
export function formatProblem(problem: ConfigProblem): string {
  const { message, expected, got } = problem;
  const place =
    problem.line === undefined
      ? problem.file
      : `${problem.file}:${problem.line}${problem.column === undefined ? "" : `:${problem.column}`}`;
  const saysExpected = /\bexpected\b/.test(message);
  const facts = [
    expected && !saysExpected && `expected ${expected}`,
    got !== undefined && got !== "nothing" && !message.includes(got.replace(/^"|"$/g, "")) && `got ${got}`,
  ].filter(Boolean);
  return `${place}${problem.path ? ` ${problem.path}` : ""}: ${message}${facts.length ? ` (${facts.join("; ")})` : ""}`;
}
