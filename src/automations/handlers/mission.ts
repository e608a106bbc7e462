/**
 * `run: mission`: starts a mission. The run ends when the first tasks are let go, and fails when a hook refuses that; the rest of the
 * mission is not part of it.
 */
import { z } from "zod";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { suggestion } from "../../lib/validation/schema-issues.js";
import type { Handler } from "../handler.js";
import { chatAddress, placeOf, whyNoPlace } from "../outgoing/chat-address.js";

const missionOptions = z.strictObject({
  plan: z.string().min(1).max(64).describe("A plan: the name of a file in the folder `missions`, or the id in it."),
  at: chatAddress
    .optional()
    .describe(
      "Where it is shown as it goes on: an address, or here; when that names no chat, the run fails. Nowhere in chat when absent.",
    ),
});

export const missionHandler: Handler<z.output<typeof missionOptions>> = {
  name: "mission",
  summary:
    "Starts a mission by its plan. The run fails when another hook refuses the start or its first tasks. Texts of a plan are no templates: `{{ … }}` is shown there as it is written.",
  decidesNothing: true,
  options: missionOptions,
  // No value from the event chooses a plan: plans may start programs.
  verbatim: ["plan"],
  chats: ({ at }) => (at === undefined ? [] : [{ path: ["at"], text: at }]),
  missing: ({ plan }, { plans }) =>
    plans === undefined || plans.includes(plan)
      ? []
      : [`there is no plan "${plan}" in the folder missions${suggestion(plan, plans)}`],
  ownerOnly: true,
  async run({ plan, at }, { reach, hookId, runId, cause, event, signal, dryRun }) {
    const rendered = `mission ${plan}`;
    if (dryRun) return { kind: "decided", decision: { kind: "pass" }, rendered, output: { dryRun: true } };
    const address = at === undefined ? undefined : placeOf(at, event);
    // No chat would show the mission, nor that it waits for an approval.
    if (at !== undefined && address === undefined)
      return { kind: "failed", error: `${at}: ${whyNoPlace(at)}`, isRetryable: false, rendered };
    try {
      const missionId = await reach.startMission(plan, {
        by: `hook:${hookId}`,
        once: `${hookId}:${runId}`,
        cause,
        signal,
        address,
      });
      return { kind: "decided", decision: { kind: "pass" }, rendered, output: { missionId } };
    } catch (error) {
      const isRetryable = error instanceof HookgateError && error.retryable;
      return { kind: "failed", error: errorMessage(error), isRetryable, rendered };
    }
  },
};
