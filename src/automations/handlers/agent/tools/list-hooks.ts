/** `list_hooks`: which hooks there are, and how they fared. */
import { z } from "zod";
import type { ModelTool } from "../../../../domain/model.js";
import type { RunContext } from "../../../run-context.js";

const args = z.strictObject({
  limit: z.int().min(1).max(200).default(50),
});

export function listHooks(_options: unknown, { reach }: RunContext): ModelTool<z.output<typeof args>> {
  return {
    name: "list_hooks",
    description: "Lists the hooks of this gateway: id, what they listen to, whether they are on, how they fared.",
    args,
    run: ({ limit }) => reach.query("hooks", { limit }),
  };
}
