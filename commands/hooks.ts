/** `/hooks`: what is installed, what it does, and switching it. */
import type { CommandSpec } from "../src/domain/command.js";
import type { Command } from "../src/gateway/commands.js";
import { actionOption } from "./action-option.js";
import type { CommandDeps } from "./deps.js";
import { HOOK_ACTIONS } from "./hooks/actions.js";
import { explainAdding } from "./hooks/add.js";
import { showBroken } from "./hooks/broken.js";
import { listHooks } from "./hooks/list.js";
import { showNext } from "./hooks/next.js";
import { showOrder } from "./hooks/order.js";
import { pauseHooks, resumeHooks } from "./hooks/pause.js";
import { showHook } from "./hooks/show.js";
import { switchHook } from "./hooks/switch.js";
import { testHook } from "./hooks/test.js";
import { explainHook } from "./hooks/why.js";

type Action = keyof typeof HOOK_ACTIONS;

export const hooksSpec: CommandSpec = {
  name: "hooks",
  summary: "List the hooks, look at one, switch it, ask why it did not run, what fires next",
  role: "viewer",
  options: [
    { ...actionOption(HOOK_ACTIONS, "list"), yields: true },
    {
      name: "id",
      summary: "The hook's id; why: optional; order: a point; list: part of an id or point, on, off, failing, never",
      type: "string",
      complete: "hooks-and-points",
      words: ["on", "off", "failing", "never", "broken"],
    },
    {
      name: "message",
      summary: "why: last, or the id of a message, delivery or dispatch; or reply to the message",
      type: "string",
      only: ["why"],
      complete: "runs",
    },
    { name: "page", summary: "list, next, broken: which page", type: "integer", only: ["list", "next", "broken"] },
    {
      name: "limit",
      summary: "list, next, broken: how many on a page",
      type: "integer",
      only: ["list", "next", "broken"],
    },
    {
      name: "payload",
      summary: "test: JSON; or example, or last (the last real one)",
      type: "string",
      only: ["test"],
      rest: true,
      complete: "words",
      words: ["example", "last"],
    },
  ],
};

export function hooks(deps: CommandDeps): Command {
  return {
    ...hooksSpec,
    async run(context) {
      const action = (context.options.action ?? "list") as Action; // checked against the choices by the spec
      switch (action) {
        case "list":
          return listHooks(deps, context);
        case "show":
          return showHook(deps, context);
        case "enable":
          return switchHook(deps, context, true);
        case "disable":
          return switchHook(deps, context, false);
        case "why":
          return explainHook(deps, context);
        case "order":
          return showOrder(deps, context);
        case "next":
          return showNext(deps, context);
        case "broken":
          return showBroken(deps, context);
        case "test":
          return testHook(deps, context);
        case "pause":
          return pauseHooks(deps, context);
        case "resume":
          return resumeHooks(deps, context);
        case "add":
          return explainAdding();
      }
    },
  };
}
