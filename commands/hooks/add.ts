/** `/hooks add`: explains why a hook is not added here; shows the text to paste instead. */
import type { CommandAnswer } from "../../src/gateway/commands.js";
import { answer, commandButton } from "../answer.js";
import { block, code } from "../show/text.js";

const SNIPPET = `- id: disk-check
  description: Show how full the disk is
  trigger: { every: 1h }
  context:
    - shell: { command: [df, -h, /] }
  run:
    chat:
      to: "web:web:general"
      text: "{{ steps[0].stdout }}"`;

export function explainAdding(): CommandAnswer {
  return answer({
    text: [
      "Hooks are not added from chat: a definition may run programs, so it is written where only the owner of this machine can, and stays under version control.",
      `Put this into a file under ${code("hooks/")} beside the configuration (or below ${code("hooks:")} in it), and save. Hookgate checks and applies it at once, and reports problems here.`,
      block(SNIPPET, "yaml"),
      `${code("npx hookgate check")} shows every problem before you save, and ${code("npx hookgate points")} what hooks can listen to.`,
    ],
    data: { snippet: SNIPPET },
    buttons: [[commandButton("Hooks", "/hooks list"), commandButton("Broken ones", "/hooks broken")]],
  });
}
