/**
 * `/claim CODE`: the first owner on a platform, by the one-time code that the gateway prints. Owners list and remove claims, and get new
 * codes.
 */
import { formatAddress } from "../src/domain/chat/address.js";
import { hasRole } from "../src/domain/chat/identity.js";
import type { CommandAnswer, CommandContext } from "../src/gateway/commands.js";
import type { ClaimResult } from "../src/gateway/people/owner-claims.js";
import { HookgateError } from "../src/lib/errors.js";
import { answer } from "./answer.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { code, plain } from "./show/text.js";

type Claims = NonNullable<CommandDeps["claims"]>;

export const claim = defineCommand({
  name: "claim",
  group: "start",
  summary: "Become an owner with the one-time code that the gateway prints",
  role: "anyone",
  options: [
    {
      name: "code",
      summary: "The code. Owners leave it out to see claimed owners and to get a new code",
      type: "string",
      // A code that is copied with spaces in it is one code.
      rest: true,
    },
    {
      name: "remove",
      summary: "For owners: a claimed owner to remove, as platform:id",
      type: "string",
    },
  ],
  async run({ claims }, context) {
    if (claims === undefined) throw unavailable();
    const { code: typed, remove } = context.options;
    if (typeof remove === "string") return removed(claims, remove, context);
    if (typeof typed === "string") return claimed(claims, typed, context);
    return shown(claims, context);
  },
});

async function claimed(claims: Claims, typed: string, { operator, at, from, logger }: CommandContext) {
  const person = personOf(operator);
  // A code that is not used up here could be used by any reader of it.
  const isExposed = () => {
    const isVoid = from?.isOpen === true && claims.expose(typed);
    if (isVoid) logger.warn({ person }, "an owner code was typed where others could read it, and is void");
    return isVoid;
  };
  if (hasRole(operator.role, "owner"))
    return answer({
      text: ["You are an owner already; the code was not used.", isExposed() && EXPOSED.message],
      data: { person, role: "owner" },
    });
  const result = await claims.claim(person, operator.displayName, typed);
  if (result !== "claimed") {
    logger.warn({ person, result }, "an owner code was not accepted");
    return refused(isExposed() ? EXPOSED : REFUSALS[result], from?.isOpen);
  }
  logger.info({ person }, "a new owner was claimed in chat");
  const here = from?.isDm === false && at !== undefined;
  return answer({
    text: [
      `You are an **owner** now, ${code(person)}. This holds after a restart; ${code(`/claim remove=${person}`)} undoes it.`,
      "Send me a direct message, or try `/status` and `/hooks`.",
      "To become an owner with your account on another platform too, get another code with `/claim` in a direct message to me, or with `npx hookgate claim` on my machine. Send it to me there.",
      here && "To let me listen in this chat, send `/whoami` here: it shows the lines for hookgate.yaml.",
    ],
    data: { person, role: "owner" },
  });
}

const WHERE =
  "The start of the gateway prints the code in a terminal, and `npx hookgate claim` on its machine prints a new one.";

const REFUSALS: Record<Exclude<ClaimResult, "claimed">, { message: string; hint: string }> = {
  wrong: {
    message: "That is not the current code. A code holds until the gateway stops or a newer one is printed.",
    hint: "Check it letter by letter. `npx hookgate claim` on the gateway's machine prints a new one.",
  },
  limited: {
    message: "You sent too many wrong codes. Within an hour, no code of yours is accepted.",
    hint: "Wait an hour, or ask for a new code: `npx hookgate claim` on the gateway's machine prints one.",
  },
  void: {
    message: "The code is void after too many wrong attempts.",
    hint: "`npx hookgate claim` on the gateway's machine prints a new one.",
  },
  "no-code": {
    message: "No code is valid now. A code works once, until the gateway stops.",
    hint: "`npx hookgate claim` on the gateway's machine prints a new one.",
  },
};

const EXPOSED = {
  message: "Everybody in the room could read the code, so it is void now.",
  hint: "`npx hookgate claim` on the gateway's machine prints a new one. Send it in a direct message.",
};

/** A refusal, not a failure: it is answered privately, because all people in a room could read the fault of a code. */
function refused({ message, hint: next }: typeof EXPOSED, isOpen = false): CommandAnswer {
  const hint = isOpen && !next.includes("direct message") ? `${next} Send the code in a direct message.` : next;
  return answer({
    text: [`✗ ${message}\n${hint}`],
    data: { error: { code: "CLAIM_REFUSED", message, hint } },
    outcome: "refused",
  });
}

async function removed(claims: Claims, person: string, { need, operator, logger }: CommandContext) {
  need("owner");
  if (!(await claims.remove(person)))
    throw new HookgateError({
      code: "NOT_FOUND",
      message: `${person} is not a claimed owner.`,
      hint: "`/claim` lists them. Roles in hookgate.yaml are changed there.",
    });
  logger.info({ person, by: personOf(operator) }, "a claimed owner was removed");
  return answer({ text: [`${code(person)} is no longer an owner.`], data: { removed: person } });
}

/** A new code is a secret: it is shown on the command line, and in direct messages only. */
function shown(claims: Claims, { operator, at, from }: CommandContext) {
  if (!hasRole(operator.role, "owner"))
    throw new HookgateError({
      code: "BAD_USAGE",
      message: "The code is missing: write `/claim CODE`.",
      hint: `${WHERE} Only the person who runs the gateway has it.`,
    });
  const owners = [...claims.owners.values()];
  const isPrivate = at === undefined || from?.isDm === true;
  const newCode = isPrivate ? claims.newCode(at && formatAddress(at)) : undefined;
  return answer({
    text: [
      owners.length === 0
        ? "No owner was claimed in chat."
        : `Claimed owners:\n${owners.map(({ person, name, at: since }) => `- ${code(person)}${name === undefined ? "" : ` ${plain(name, 64)}`}, since <t:${Math.floor(since / 1000)}:f>`).join("\n")}`,
      newCode === undefined
        ? "Ask for a new code in a direct message."
        : `New owner code: ${code(newCode)}. It works once, until the gateway stops. The person sends ${code(`/claim ${newCode}`)} to the bot; codes from before are void.`,
    ],
    data: { owners, code: newCode ?? null },
  });
}

const personOf = ({ platform, userId }: CommandContext["operator"]) => `${platform}:${userId}`;

function unavailable(): HookgateError {
  return new HookgateError({ code: "UNAVAILABLE", message: "This gateway has no store for claimed owners." });
}
