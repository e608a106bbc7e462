/** The environment variables of a program. The whole payload is on standard input. */
import type { RunContext } from "../run-context.js";

/** Linux takes 128 KiB in one variable (MAX_ARG_STRLEN), macOS 256 KiB in all, of which others need some. */
const MAX_PAYLOAD_BYTES = 64 * 1024;

/** Fields of the payload, by the names that the families of hook points use for them. */
const FROM_PAYLOAD: Readonly<Record<string, readonly string[]>> = {
  HOOKGATE_WORKSPACE_ID: ["workspaceId", "workspace_id"],
  HOOKGATE_CREW_ID: ["crewId", "crew_id"],
  HOOKGATE_AGENT_ID: ["agentId", "agent_id", "agent"],
  HOOKGATE_MISSION_ID: ["missionId", "mission_id"],
  HOOKGATE_TOOL_NAME: ["toolName", "tool_name"],
  HOOKGATE_SEVERITY: ["severity"],
};

/** All of them are always set, so that scripts may run with `set -u`; a field that the payload lacks is empty. */
export function programVariables(context: RunContext, payload: string): Record<string, string> {
  const variables: Record<string, string> = {
    HOOKGATE_EVENT: context.eventName,
    HOOKGATE_HOOK_ID: context.hookId,
    HOOKGATE_RUN_ID: context.runId,
    HOOKGATE_ATTEMPT: String(context.attempt),
    // Programs of steps run in a dry run, too: those that change something look at this.
    HOOKGATE_DRY_RUN: context.dryRun ? "1" : "",
    HOOKGATE_PAYLOAD: payloadVariable(payload),
  };
  for (const [name, fields] of Object.entries(FROM_PAYLOAD)) variables[name] = firstText(context.event, fields);
  return variables;
}

/** Half a payload would be no JSON: for a payload that is too large, the variable shows where it is. */
function payloadVariable(payload: string): string {
  const sizeBytes = Buffer.byteLength(payload);
  return sizeBytes <= MAX_PAYLOAD_BYTES ? payload : JSON.stringify({ onStandardInput: true, sizeBytes });
}

function firstText(event: Readonly<Record<string, unknown>>, fields: readonly string[]): string {
  for (const field of fields) {
    const value = event[field];
    if (typeof value === "string" || typeof value === "number") return String(value);
  }
  return "";
}
