/**
 * What modules keep between calls. State belongs to objects that `src/app.ts` makes and closes: then two gateways of one process (tests, an
 * embedder, a reload) share nothing. What a module may keep is listed here, with the reason.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { parseAst } from "vitest/node";

const ROOT = resolve(import.meta.dirname, "../..");

/** File, names, reason. */
const ALLOWED: [string, string, string][] = [
  ["src/alerts/rota/turns.ts", "known", "a cache: the turns of a rota follow from its settings"],
  [
    "src/automations/handlers/module.ts",
    "examined imported",
    "a cache: what a module exports follows from its file's version",
  ],
  ["src/automations/handlers/shell.ts", "examined", "a cache: the faults of a script follow from its text"],
  ["src/automations/ingest/event-schema.ts", "metaSchemas", "a cache: what schemas of a draft have to match"],
  ["src/config/env.ts", "fromDotEnv", "what of the variables of `process` is of `.env`, and may be replaced"],
  [
    "src/hooks/dry-run.ts",
    "hasHandlers tracking underWay",
    "what surrounds a call reaches code that gets nothing passed in",
  ],
  ["src/hooks/conditions/impossible-match.ts", "limited", "a cache: follows from a schema"],
  [
    "src/hooks/conditions/work.ts",
    "TOO_MUCH stepsLeft",
    "functions of CEL get nothing passed in; ends with the evaluation",
  ],
  ["src/hooks/registration/payload-schema.ts", "schemas", "a cache: follows from the schema of a point"],
  ["src/hooks/registration/predicate.ts", "declarations payloadEnvironments schemas", "a cache: follows from a schema"],
  [
    "src/lib/files/fresh-imports.ts",
    "isRegistered",
    "Node's loader of modules, which belongs to the process, is told once",
  ],
  [
    "src/lib/id.ts",
    "pool poolAt stamp stampedMs",
    "random bytes in stock and the last time as text: ids are unique in the process",
  ],
  ["src/lib/markdown/tokens.ts", "formats", "a cache of bounded size: a format follows from its style and zone"],
  ["src/lib/process/refuse-exit.ts", "exits", "`process` itself: what it replaces in it, it puts back"],
  ["src/lib/validation/strictly.ts", "made", "a cache: follows from a schema"],
  ["src/lib/time/timezone.ts", "formats", "a cache: one format for each zone there is"],
  ["src/loader.ts", "chunks", "the product's own modules, each loaded once"],
];

interface Node {
  type: string;
  start: number;
  [field: string]: unknown;
}

const MUTATING = new Set("set add delete clear push pop shift unshift splice sort reverse fill copyWithin".split(" "));
/** Built-in classes whose instances do not change, or only where a function of the module changes them (looked for below). */
const WATCHED = new Set("Intl Map Set WeakMap WeakSet Array Uint16Array RegExp URL".split(" "));

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Node).type === "string";
const isFunction = ({ type }: Node) => /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type);
const childrenOf = (node: Node): Node[] => Object.values(node).flat().filter(isNode);

const files = ["src", "adapters", "commands"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name)),
);

/** Names that a pattern binds. */
function namesIn(pattern: unknown): string[] {
  if (!isNode(pattern)) return [];
  switch (pattern.type) {
    case "Identifier":
      return [pattern.name as string];
    case "ObjectPattern":
      return (pattern.properties as Node[]).flatMap((one) => namesIn(one.value ?? one.argument));
    case "ArrayPattern":
      return (pattern.elements as unknown[]).flatMap(namesIn);
    case "AssignmentPattern":
      return namesIn(pattern.left);
    case "RestElement":
      return namesIn(pattern.argument);
    case "TSParameterProperty":
      return namesIn(pattern.parameter);
    default:
      return [];
  }
}

/** Names that a function binds for itself, in any of its blocks. */
function ownNames(fn: Node): Set<string> {
  const names = new Set((fn.params as unknown[]).flatMap(namesIn));
  const visit = (node: Node): void => {
    if (node.type === "VariableDeclarator") for (const name of namesIn(node.id)) names.add(name);
    if (node.type === "CatchClause") for (const name of namesIn(node.param)) names.add(name);
    if (/^(Function|Class)Declaration$/.test(node.type)) for (const name of namesIn(node.id)) names.add(name);
    if (!isFunction(node)) childrenOf(node).forEach(visit);
  };
  visit(fn.body as Node);
  return names;
}

/** The name whose object an expression is part of: `a` of `a.b[0].c`. */
function rootName(node: unknown): string | undefined {
  let at = node;
  while (isNode(at) && /^(MemberExpression|ChainExpression|TSNonNullExpression|TSAsExpression)$/.test(at.type))
    at = at.type === "MemberExpression" ? at.object : at.expression;
  return isNode(at) && at.type === "Identifier" ? (at.name as string) : undefined;
}

/** Names whose value or whose object this node changes. */
function changedBy(node: Node): (string | undefined)[] {
  switch (node.type) {
    case "AssignmentExpression":
      return [rootName(node.left), ...namesIn(node.left)];
    case "UpdateExpression":
      return [rootName(node.argument)];
    case "UnaryExpression":
      return node.operator === "delete" ? [rootName(node.argument)] : [];
    case "CallExpression": {
      const callee = node.callee as Node;
      const args = node.arguments as unknown[];
      if (callee.type !== "MemberExpression")
        return /^random(Fill|FillSync)$/.test(rootName(callee) ?? "") ? [rootName(args[0])] : [];
      const method = (callee.property as Node).name as string;
      if (rootName(callee) === "Object" && /^(assign|defineProperty)$/.test(method)) return [rootName(args[0])];
      return MUTATING.has(method) ? [rootName(callee.object)] : [];
    }
    default:
      return [];
  }
}

/** What a module keeps: names that it can set anew, instances of classes, and what its functions change. */
function stateOf(file: string, source = readFileSync(join(ROOT, file), "utf8")): string[] {
  const program = parseAst(source, { lang: "ts" }, file) as unknown as Node;
  const kept = new Set<string>();
  /** Names of the module, those that it imports from others of ours included. */
  const known = new Set<string>();
  for (const statement of program.body as Node[]) {
    const declared = isNode(statement.declaration) ? statement.declaration : statement;
    if (statement.type === "ImportDeclaration" && /^\./.test((statement.source as unknown as { value: string }).value))
      for (const { local } of statement.specifiers as Node[]) for (const name of namesIn(local)) known.add(name);
    if (/^(Function|Class)Declaration$/.test(declared.type)) for (const name of namesIn(declared.id)) known.add(name);
    if (declared.type !== "VariableDeclaration") continue;
    for (const { id, init } of declared.declarations as { id: Node; init: Node | null }[])
      for (const name of namesIn(id)) {
        known.add(name);
        if (declared.kind !== "const" && declared.declare !== true) kept.add(name);
        if (init?.type === "NewExpression" && !WATCHED.has(rootName(init.callee) ?? "")) kept.add(name);
      }
  }
  const visit = (node: Node, hidden: readonly Set<string>[], isInside: boolean): void => {
    if (isInside)
      for (const name of changedBy(node))
        if (name !== undefined && known.has(name) && !hidden.some((names) => names.has(name))) kept.add(name);
    if (node.type === "PropertyDefinition" && node.static === true && (node.readonly !== true || node.value !== null))
      kept.add(`static ${(node.key as Node).name}`);
    const inner = isFunction(node) ? [...hidden, ownNames(node)] : hidden;
    for (const child of childrenOf(node)) visit(child, inner, isInside || isFunction(node));
  };
  visit(program, [], false);
  return [...kept].map((name) => `${file} ${name}`);
}

it("finds what a module keeps", () => {
  const source = `
    import { theirs } from "./theirs.js";
    let count = 0;
    const seen = new Map();
    const list: string[] = [];
    const table = { a: 1 };
    const FIXED = new Map([["a", 1]]);
    const thread = new Thread();
    FIXED.set("b", 2);
    class Counter { static all = 0; own = 0; add() { this.own++; } }
    export function note(key: string, table: { a: number }) {
      seen.set(key, FIXED.get(key));
      list.push(key);
      table.a = 2;
      theirs.last = key;
      const own = new Map();
      own.set(key, 1);
    }`;
  expect(stateOf("module.ts", source).map((one) => one.replace("module.ts ", ""))).toEqual(
    expect.arrayContaining(["count", "thread", "static all", "seen", "list", "theirs"]),
  );
  expect(stateOf("module.ts", source)).toHaveLength(6);
});

it("is only what is listed with its reason", () => {
  expect(files.length).toBeGreaterThan(500);
  const allowed = ALLOWED.flatMap(([file, names]) => names.split(" ").map((name) => `${file} ${name}`));
  expect(files.flatMap((file) => stateOf(file)).sort()).toEqual(allowed.sort());
});
