/** `/sla`: clocks, policies, how well targets are met; and more time, or the end of a conversation, where a person decides so. */

import { defineCommand } from "./define.js";
import { closeConversation, extendClock } from "./sla/change.js";
import { listClocks } from "./sla/list.js";
import { mutePolicy, unmutePolicy } from "./sla/mute.js";
import { listPolicies } from "./sla/policies.js";
import { reportAttainment } from "./sla/report.js";
import { showClock } from "./sla/show.js";

export const sla = defineCommand({
  name: "sla",
  group: "alerts",
  summary: "What is due when, what is overdue, and how well targets are met",
  role: "viewer",
  actions: {
    list: { summary: "Clocks: what is due or overdue", run: listClocks },
    show: { summary: "One clock in full", run: showClock },
    policies: { summary: "The SLA policies", run: listPolicies },
    report: { summary: "How well targets were met", run: reportAttainment },
    extend: { summary: "Give a clock more time", role: "operator", run: extendClock },
    close: { summary: "End the clock of a conversation", role: "operator", isNoted: true, run: closeConversation },
    mute: { summary: "Mute a policy for a while", role: "operator", run: mutePolicy },
    unmute: { summary: "Unmute a policy", role: "operator", run: unmutePolicy },
  },
  options: [
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
});
