/** `/whoami`: my id and role, and the lines that give me one. Always answers, so that a newcomer can be let in. */
import type { Role } from "../src/domain/chat/identity.js";
import type { CommandContext } from "../src/gateway/commands.js";
import { answer } from "./answer.js";
import { defineCommand } from "./define.js";
import { block, code, plain } from "./show/text.js";

export const whoami = defineCommand({
  name: "whoami",
  group: "start",
  summary: "Your id, your role, and the lines to put into the configuration",
  role: "anyone",
  options: [],
  async run(_deps, context) {
    const { operator, at, from } = context;
    const person = `${operator.platform}:${operator.userId}`;
    const roleIds = from?.userRoleIds ?? [];
    const chat = from?.isDm || from?.isListenedTo ? undefined : (from?.parentChatId ?? at?.chatId);
    const config = configLines(context, person, chat);
    return answer({
      text: [
        [
          `You are ${operator.displayName ? `**${plain(operator.displayName, 64)}**, ` : ""}${code(person)}`,
          `role: ${operator.role ? `**${operator.role}**` : "**none**. You can use `/help`, `/whoami` and `/claim`"}`,
          ...(roleIds.length > 0
            ? [
                `platform roles: ${roleIds
                  .slice(0, 20)
                  .map((id) => code(`${operator.platform}:role:${id}`))
                  .join(", ")}`,
              ]
            : []),
          ...(at
            ? [
                `here: chat ${code(at.chatId)}${at.threadId === undefined ? "" : `, thread ${code(at.threadId)}`}${from?.guildId ? `, guild ${code(from.guildId)}` : ""}`,
              ]
            : []),
        ].join("\n"),
        config !== "" && `${whatFor(operator.role)}:\n${block(config, "yaml")}`,
        operator.role === undefined && OWN_GATEWAY,
      ],
      data: {
        ...operator,
        role: operator.role ?? null,
        person,
        platformRoles: roleIds.map((id) => `${operator.platform}:role:${id}`),
        at,
        config: config || undefined,
      },
    });
  },
});

const OWN_GATEWAY = `If you run the gateway yourself: ${code("/claim CODE")} makes you an owner at once. ${code("npx hookgate claim")} on its machine prints the code.`;

/** A person with a role is not offered a role. */
function whatFor(role: Role | undefined): string {
  const file = code("hookgate.yaml");
  if (role === "owner") return `To let the gateway listen here in ${file}`;
  if (role !== undefined)
    return `The gateway does not listen here. The person who runs it can change that with these lines in ${file}`;
  return `The person who runs the gateway can give you a role: these lines in ${file} (or another role in place of operator: viewer, admin, owner), then a restart`;
}

/** The lines to paste; a person merges them with the existing lines. Ids are quoted: YAML would round long numbers. */
function configLines({ operator }: CommandContext, person: string, chat: string | undefined): string {
  const lines: string[] = [];
  if (operator.role === undefined) lines.push("operators:", "  operator:", `    - ${JSON.stringify(person)}`);
  if (chat !== undefined)
    lines.push(`${operator.platform}:`, "  access:", "    chats:", `      - ${JSON.stringify(chat)}`);
  return lines.join("\n");
}
