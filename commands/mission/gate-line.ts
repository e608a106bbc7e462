/** A gate in a sentence. */

import { type GateState, isGateOpen } from "../../src/domain/orchestrator/mission.js";
import { plain } from "../show/text.js";
import { nameIn } from "../show/who-is.js";

export function gateLine(gate: GateState): string {
  const name = `Gate **${plain(gate.name)}**`;
  const score = gate.avgScore === undefined ? "" : `, score ${gate.avgScore.toFixed(2)}`;
  if (gate.released)
    return `${name} was released by ${plain(nameIn(gate.released.by))}: ${plain(gate.released.reason)}${score}`;
  if (gate.verdict === undefined) return `${name} (after ${plain(gate.group)}): not reached yet`;
  if (isGateOpen(gate)) return `${name} is open${score}`;
  const why = gate.verdict === "held" ? (gate.reason ?? "") : `${gate.veto?.reason} (${gate.veto?.by})`;
  return `${name} is **shut**: ${plain(why)}${gate.verdict === "held" ? "" : score}`;
}
