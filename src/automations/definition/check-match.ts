/** What a matcher asks of payloads that never have it: such a hook would never fire, and nobody would notice. */
import { type ASTNode, parse } from "@marcbachmann/cel-js";
import type { Matcher } from "../../hooks/matcher.js";
import type { AnyPoint } from "../../hooks/signatures.js";
import type { Issue } from "../../lib/schema-issues.js";
import { type JsonSchema, propertiesOf } from "../template/json-schema.js";

/** Where the fields of a matcher are looked for in a payload; see `hooks/matcher.ts`. */
const PLACES: Readonly<Partial<Record<keyof Matcher, readonly string[]>>> = {
  tools: ["toolName"],
  agents: ["agentId", "agent", "assignTo", "task.assignTo", "task.agent", "personalityId"],
  crews: ["crewId", "task.crewId"],
  severities: ["severity"],
  platforms: ["platform", "message.platform", "address.platform", "operator.platform", "at.platform"],
  chats: ["chatId", "message.chatId", "address.chatId", "operator.chatId", "at.chatId"],
  users: ["userId", "message.userId", "address.userId", "operator.userId", "at.userId"],
  hooks: ["hookId"],
  watches: ["watchId"],
};

export function impossibleMatches(match: Matcher, point: AnyPoint, payload: JsonSchema): Issue[] {
  const issues: Issue[] = [];
  for (const [field, places] of Object.entries(PLACES))
    if (match[field as keyof Matcher] !== undefined && !places.some((place) => mayHave(payload, place.split("."))))
      issues.push({
        path: ["match", field],
        message: `no payload of ${point.name} carries ${places.join(" or ")}, so this never matches`,
      });
  if (match.when !== undefined) issues.push(...impossibleValues(match.when, match.access, payload));
  if (point.name === "message_deleted" && match.platforms?.every((platform) => platform === "telegram"))
    issues.push({ path: ["match", "platforms"], message: "Telegram reports no deletions, so this never matches" });
  return issues;
}

/** Whether a payload may carry a conversation that `here` can mean. */
export function hasConversation(payload: JsonSchema): boolean {
  return ["message.chatId", "address.chatId", "chatId"].some((place) => mayHave(payload, place.split(".")));
}

function mayHave(root: JsonSchema, path: readonly string[]): boolean {
  return schemasAt(root, path) !== undefined;
}

/** The schema of a field; undefined when no payload has the field, `{}` when nothing is known of it. */
function schemasAt(root: JsonSchema, path: readonly string[]): JsonSchema | undefined {
  let at = root;
  for (const step of path) {
    const { fields, isOpen } = propertiesOf(at, root);
    const next = fields.get(step);
    if (next === undefined) return isOpen ? {} : undefined;
    at = next;
  }
  return at;
}

/** Comparisons with a value that the field never has. What the expression gets wrong otherwise is found when it is compiled. */
function impossibleValues(source: string, access: Matcher["access"], payload: JsonSchema): Issue[] {
  const path = ["match", "when"];
  const issues: Issue[] = [];
  for (const { field, value } of comparisons(source)) {
    const known = valuesOf(schemasAt(payload, field) ?? {});
    const name = `payload.${field.join(".")}`;
    if (known !== undefined && !known.includes(value))
      issues.push({ path, message: `${name} is never "${value}": it is one of ${known.join(", ")}` });
    else if (name === "payload.access" && value === "denied" && access !== "any")
      issues.push({
        path,
        message: 'the hook does not see denied messages, so payload.access is never "denied": add `access: any`',
      });
  }
  return issues;
}

/** The texts that a field can have; undefined when there is no end of them. */
function valuesOf(schema: JsonSchema & { enum?: unknown; const?: unknown }): string[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum.map(String);
  if (schema.const !== undefined) return [String(schema.const)];
  const forms = schema.anyOf ?? schema.oneOf;
  const values = forms?.filter(({ type }) => type !== "null").map(valuesOf);
  if (values === undefined || values.length === 0 || values.includes(undefined)) return undefined;
  return values.flatMap((one) => one ?? []);
}

function comparisons(source: string): { field: string[]; value: string }[] {
  const found: { field: string[]; value: string }[] = [];
  let ast: ASTNode;
  try {
    ast = parse(source).ast;
  } catch {
    return []; // reported when it is compiled
  }
  visit(ast, (node) => {
    if (node.op !== "==" && node.op !== "in") return;
    const [left, right] = node.args;
    for (const [one, other] of [
      [left, right],
      [right, left],
    ] as const) {
      const field = fieldOf(one);
      if (field !== undefined) for (const value of textsOf(other)) found.push({ field, value });
    }
  });
  return found;
}

/** `payload.message.platform`, as its steps after `payload`. */
function fieldOf(node: ASTNode): string[] | undefined {
  if (node.op !== ".") return undefined;
  const [holder, name] = node.args;
  if (holder.op === "id") return holder.args === "payload" ? [String(name)] : undefined;
  const before = fieldOf(holder);
  return before && [...before, String(name)];
}

function textsOf(node: ASTNode): string[] {
  if (node.op === "value") return typeof node.args === "string" ? [node.args] : [];
  return node.op === "list" ? node.args.flatMap(textsOf) : [];
}

function visit(node: unknown, see: (node: ASTNode) => void): void {
  if (Array.isArray(node)) for (const one of node) visit(one, see);
  else if (typeof node === "object" && node !== null && "op" in node && "args" in node) {
    see(node as ASTNode);
    visit(node.args, see);
  }
}
