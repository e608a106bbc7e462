/** Steps of escalations that can notify none of the people whom they mention, no matter who is on call. */
import type { RouteConfig } from "../../alerts/config.js";
import { accountsOf, rotaOf } from "../../alerts/rota/people.js";
import { isReached, peopleOf } from "../../alerts/rota/reach.js";
import { namesFor } from "../../alerts/steps/route.js";
import type { Environment } from "../../config/env.js";
import type { Config } from "../../config/schema.js";
import type { PlatformName } from "../../domain/chat/platform.js";
import { directAddress, directPerson } from "../parts/direct.js";
import { accountProblem } from "../people.js";
import type { SettingProblem } from "./setting-problem.js";

type Step = RouteConfig["escalate"][number];

/** Steps that would follow after more reminders than are sent: by the route, or by a policy with reminders of its own. */
export function untakenSteps({ alerts, sla }: Config): SettingProblem[] {
  const ofRoutes = Object.entries(alerts.routes).flatMap(([name, { escalate, remind }]) =>
    afterMoreThan(remind.times, escalate).map(({ index, why }): SettingProblem => {
      const message = `this step is never taken: ${why} (\`remind.times\`). Give it fewer, or a time (\`after\`)`;
      return { path: ["alerts", "routes", name, "escalate", index, "reminders"], message };
    }),
  );
  const ofPolicies = sla.policies.flatMap(({ id, severity, routes, remind: { times } = {} }, policy) => {
    const labels = { source: "sla", policy: id, severity: typeof severity === "string" ? severity : severity.violated };
    return namesFor(labels, routes, alerts).flatMap(([name, { escalate, remind }]) =>
      afterMoreThan(times ?? remind.times, escalate, remind.times).map(({ index, why }): SettingProblem => {
        const message = `alerts of the policy ${id} never take step ${index + 1} of the route ${name}: ${why}. Raise this number, or give the step fewer reminders or a time (\`after\`)`;
        return { path: ["sla", "policies", policy, "remind", "times"], message };
      }),
    );
  });
  return [...ofRoutes, ...ofPolicies];
}

/** Steps that follow after more reminders than `times`, and not after more than `most`. */
function afterMoreThan(times: number, escalate: readonly Step[], most = Number.POSITIVE_INFINITY) {
  return escalate.flatMap(({ after, reminders = 0 }, index) => {
    if (after !== undefined || reminders <= times || reminders > most) return [];
    const sent = times === 0 ? "no reminders are sent" : `${times} are sent at most`;
    return [{ index, why: `it follows after ${reminders} reminder${reminders === 1 ? "" : "s"}, and ${sent}` }];
  });
}

/** A webhook decides by itself whom it notifies; with a fallback, pages that notify no one are posted there: that may be as intended. */
export function unreachedSteps(config: Config, env: Environment, on: readonly PlatformName[]): SettingProblem[] {
  const { routes, fallback } = config.alerts;
  const isWarning = fallback.length > 0 || undefined;
  const isOn = (text: string) => on.some((platform) => text.startsWith(`${platform}:`));
  return Object.entries(routes).flatMap(([name, { to, escalate }]) =>
    escalate.flatMap((step, index): SettingProblem[] => {
      const chats = (step.to.length > 0 ? step.to : to).filter(isOn);
      const isUnreached = step.mention.length > 0 && step.webhook === undefined && !canReach(step, chats);
      if (!isUnreached) return [];
      const why = [...new Set(step.mention.map((mention) => whyNot(mention, chats)))].join(", and ");
      const how = isWarning
        ? `, so it is posted at \`alerts.fallback\` as well. Add accounts on ${on.join(" or ")} under \`alerts.people\``
        : `. Add accounts on ${on.join(" or ")} under \`alerts.people\`, or set \`alerts.fallback\``;
      const message = `this step can notify none of the people that it mentions: ${why}${how}`;
      return [{ path: ["alerts", "routes", name, "escalate", index, "mention"], message, isWarning }];
    }),
  );

  function canReach({ mention }: Step, chats: readonly string[]): boolean {
    const accounts = mention.flatMap(accountsBehind);
    return (
      (chats.length === 0 && accounts.some(({ ref }) => ref === "everyone")) ||
      chats.some((chat) => isReached(chat, accounts, personOf)) ||
      accounts.some(({ ref }) => isOn(ref) && isDirect(ref))
    );
  }

  function isDirect(ref: string): boolean {
    const [platform = "", id, ...more] = ref.split(":");
    return id !== undefined && more.length === 0 && directAddress(platform, id, config, env) !== undefined;
  }

  /** Everyone on a rota counts: the next person takes over for one without an account. */
  function accountsBehind(mention: string) {
    const rota = config.alerts.rotas[rotaOf(mention) ?? ""];
    const accounts = accountsOf(rota === undefined ? [mention] : peopleOf(rota), config.alerts, 0);
    return accounts.filter(({ ref }) => accountProblem(ref, config) === undefined);
  }

  function whyNot(mention: string, chats: readonly string[]): string {
    if (mention === "everyone")
      return `everyone cannot be mentioned on ${[...new Set(chats.map((chat) => chat.split(":")[0]))].join(" or ")}`;
    const name = rotaOf(mention);
    const rota = config.alerts.rotas[name ?? ""];
    if (rota !== undefined && peopleOf(rota).length === 0) return `the rota ${name} has no people`;
    const who = rota === undefined ? mention : `everyone on the rota ${name}`;
    const hasNone = accountsBehind(mention).length === 0;
    return `${who} ${hasNone ? "has no account" : "has accounts only where this step is not posted and no private chat is possible"}`;
  }
}

function personOf(chat: string): string | undefined {
  const [platform = "", botId = "", chatId = ""] = chat.split(":");
  return directPerson({ platform, botId, chatId });
}
