/** What a matcher asks of payloads that never have it: such a hook would never fire, and nobody would notice. */
import { platformProblem } from "../../domain/platform.js";
import type { Matcher } from "../../hooks/matcher.js";
import type { AnyPoint } from "../../hooks/signatures.js";
import type { Issue } from "../../lib/schema-issues.js";
import { type JsonSchema, propertiesOf } from "../template/json-schema.js";
import { conditionProblems } from "./check-condition.js";

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
  if (match.when !== undefined) issues.push(...whenProblems(match.when, match.access, payload));
  for (const field of ["chats", "users"] as const)
    match[field]?.forEach((text, index) => {
      const [platform = ""] = text.split(":");
      if (!text.includes(":") || match.platforms === undefined || match.platforms.includes(platform)) return;
      if ([platform, ...match.platforms].some((one) => platformProblem(one) !== undefined)) return;
      const message = `${text} is not of ${match.platforms.join(" or ")}, which match.platforms asks for, so this never matches`;
      issues.push({ path: ["match", field, index], message });
    });
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

/** What the expression gets wrong otherwise is found when it is compiled. */
function whenProblems(source: string, access: Matcher["access"], payload: JsonSchema): Issue[] {
  const isNarrowed = access !== "any" && payload.properties?.access !== undefined;
  const seen = isNarrowed ? { ...payload, properties: { ...payload.properties, access: ALLOWED } } : payload;
  return conditionProblems(source, { payload: seen }).map((message) => ({
    path: ["match", "when"],
    message: message.startsWith('payload.access is never "denied"') && isNarrowed ? DENIED_UNSEEN : message,
  }));
}

const ALLOWED = { type: "string", enum: ["allowed"] };
const DENIED_UNSEEN = 'the hook does not see denied messages, so payload.access is never "denied": add `access: any`';
