/** `read_status`: the state of the gateway. */
import { z } from "zod";
import type { ModelTool } from "../../../../domain/model.js";
import type { RunContext } from "../../../run-context.js";

const args = z.strictObject({});

export function readStatus(_options: unknown, { reach }: RunContext): ModelTool<z.output<typeof args>> {
  return {
    name: "read_status",
    description: "How the gateway is: its platforms, and what waits in its queues.",
    args,
    run: () => reach.query("status", {}),
  };
}
