import type { Button } from "./message.js";

/** A button whose press runs a command line as the person who presses. */
export function commandButton(label: string, line: string, style: Button["style"] = "secondary"): Button {
  return { label, style, action: { kind: "command", line } };
}
