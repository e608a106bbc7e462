/** The tool `decide`, for hooks whose agent may block, change or claim what the hook point is about. */
import { z } from "zod";
import type { ModelTool } from "../../../../domain/model.js";
import type { Decision } from "../../../handler.js";
import { replyText } from "../../decision.js";

const args = z.strictObject({
  decision: z.enum(["pass", "block", "modify", "claim"]),
  reason: z.string().min(1).max(2000).optional().describe("Needed with block: why, for the people concerned."),
  patch: z.record(z.string(), z.unknown()).optional().describe("Needed with modify: the fields and their new values."),
  reply: replyText.max(20_000).optional().describe("With claim: what is answered."),
});

export function decideTool(): { tool: ModelTool<z.output<typeof args>>; decision(): Decision | undefined } {
  let decision: Decision | undefined;
  return {
    decision: () => decision,
    tool: {
      name: "decide",
      description: "Decides what to do with the event. Call it exactly once, when you know.",
      args,
      async run(given) {
        if (decision) throw new Error(`it was decided already: ${decision.kind}`);
        decision = decisionOf(given);
        return { decided: decision.kind };
      },
    },
  };
}

function decisionOf({ decision, reason, patch, reply }: z.output<typeof args>): Decision {
  switch (decision) {
    case "pass":
      return { kind: "pass" };
    case "block":
      if (reason === undefined) throw new Error("block needs a reason");
      return { kind: "block", reason };
    case "modify":
      if (patch === undefined) throw new Error("modify needs a patch");
      return { kind: "modify", patch };
    case "claim":
      return { kind: "claim", reply };
  }
}
