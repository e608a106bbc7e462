/** A decision, as the hook point at hand carries it: a `block` becomes `cancel`, `error` or `handled`. */
import { fieldsOf, type HookPoint, type LifecyclePhase } from "../../hooks/point.js";
import type { Decision } from "../handler.js";

export type PointResult =
  /** The value that the handler of this point returns, or, at `before`, its action. */
  | { readonly kind: "nothing" }
  | { readonly kind: "return"; readonly value: unknown }
  | { readonly kind: "cancel"; readonly reason: string }
  | { readonly kind: "change"; readonly patch: Readonly<Record<string, unknown>> }
  /** Turn points: the turn must stop. */
  | { readonly kind: "stop"; readonly reason: string }
  /** The point has no way to carry the decision. */
  | { readonly kind: "impossible"; readonly error: string };

const NOTHING: PointResult = { kind: "nothing" };

export function pointResult(decision: Decision, point: HookPoint, phase: LifecyclePhase | undefined): PointResult {
  const impossible = (what: string): PointResult => ({
    kind: "impossible",
    error: `a hook cannot ${what} at ${point.name}${phase === undefined ? "" : ` (${phase})`}`,
  });
  switch (decision.kind) {
    case "pass":
      return NOTHING;
    case "block":
      return block(decision.reason, point, phase) ?? impossible("block");
    case "modify":
      if (point.model === "modifying") return { kind: "return", value: decision.patch };
      if (phase === "before") return { kind: "change", patch: decision.patch };
      if (point.model === "turn") return { kind: "return", value: decision.patch.contributions };
      return impossible("modify anything");
    case "claim":
      if (point.model !== "claiming") return impossible("claim anything");
      if (decision.reply === undefined) return { kind: "return", value: { handled: true } };
      if (fieldsOf(point.result)?.includes("reply") === false) return impossible("reply");
      return { kind: "return", value: { handled: true, reply: decision.reply } };
  }
}

function block(reason: string, point: HookPoint, phase: LifecyclePhase | undefined): PointResult | undefined {
  switch (point.model) {
    case "claiming":
      return { kind: "return", value: { handled: true, reason } };
    case "modifying": {
      const fields = fieldsOf(point.result) ?? [];
      const field = ["cancel", "error"].find((name) => fields.includes(name));
      return field === undefined ? undefined : { kind: "return", value: { [field]: reason } };
    }
    case "lifecycle":
      return phase === "before" ? { kind: "cancel", reason } : undefined;
    case "turn":
      return { kind: "stop", reason };
    case "void":
      return undefined;
  }
}
