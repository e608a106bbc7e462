/** `/sla`: clocks, policies, how well targets are met; and more time, or the end of a conversation, where a person decides so. */

import type { CommandSpec } from "../src/domain/command.js";
import { hasRole } from "../src/domain/identity.js";
import type { Command } from "../src/gateway/commands.js";
import { actionOption } from "./action-option.js";
import type { CommandDeps } from "./deps.js";
import { closeConversation, extendClock } from "./sla/change.js";
import { listClocks } from "./sla/list.js";
import { mutePolicy, unmutePolicy } from "./sla/mute.js";
import { listPolicies } from "./sla/policies.js";
import { reportAttainment } from "./sla/report.js";
import { showClock } from "./sla/show.js";

const ACTIONS = {
  list: "Clocks: what is due or overdue",
  show: "One clock in full",
  policies: "The SLA policies",
  report: "How well targets were met",
  extend: "Give a clock more time",
  close: "End the clock of a conversation",
  mute: "Mute a policy for a while",
  unmute: "Unmute a policy",
} as const;
type Action = keyof typeof ACTIONS;

/** What takes more than looking. */
const ACTING: ReadonlySet<string> = new Set(["extend", "mute", "unmute", "close"]);

export const slaSpec: CommandSpec = {
  name: "sla",
  summary: "What is due when, what is overdue, and how well targets are met",
  role: "viewer",
  options: [
    actionOption(ACTIONS, "list"),
    {
      name: "id",
      summary: "A clock, or what it watches; mute: a policy; list: open, overdue, ended, a policy; report: days",
      type: "string",
      complete: "clocks",
      completeFor: {
        list: "words",
        close: "conversations",
        report: "words",
        policies: "words",
        mute: "policies",
        unmute: "policies",
      },
      words: ["open", "overdue", "paused", "ended"],
    },
    {
      name: "by",
      summary: "extend, mute: how long, or until when: 2h, tomorrow 17:00, business",
      type: "string",
    },
    { name: "reason", summary: "extend, mute, close: why", type: "string", rest: true },
    { name: "expected", summary: "extend: fail if the deadline changed meanwhile; buttons set it", type: "integer" },
    { name: "page", summary: "list: which page", type: "integer" },
    { name: "limit", summary: "list: how many on a page", type: "integer" },
  ],
};

export function sla(deps: CommandDeps): Command {
  return {
    ...slaSpec,
    allows: async ({ role }, { action }) => !ACTING.has(String(action)) || hasRole(role, "operator"),
    async run(context) {
      const action = (context.options.action ?? "list") as Action; // checked against the choices by the spec
      switch (action) {
        case "list":
          return listClocks(deps, context);
        case "show":
          return showClock(deps, context);
        case "policies":
          return listPolicies(deps);
        case "report":
          return reportAttainment(deps, context);
        case "extend":
          return extendClock(deps, context);
        case "mute":
          return mutePolicy(deps, context);
        case "unmute":
          return unmutePolicy(deps, context);
        case "close":
          return closeConversation(deps, context);
      }
    },
  };
}
