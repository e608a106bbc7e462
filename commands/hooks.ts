/** `/hooks`: lists the installed hooks, describes them and switches them. */
import { type CommandDefinition, defineCommand } from "./define.js";
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

export const hooks: CommandDefinition = defineCommand({
  name: "hooks",
  group: "hooks",
  summary: "List the hooks, look at one, switch it, ask why it did not run, what fires next",
  role: "viewer",
  actions: {
    list: {
      summary: "The hooks, by point; other words filter, such as /hooks deploy",
      run: (deps, context) => listHooks(deps, context, actionNames()),
    },
    show: { summary: "One hook: state, order, limits, last fires", run: showHook },
    enable: {
      summary: "Switch a hook on, also across restarts, until its `enabled` in the file changes",
      role: "admin",
      run: (deps, context) => switchHook(deps, context, true),
    },
    disable: {
      summary: "Switch a hook off, also across restarts, until its `enabled` in the file changes",
      role: "admin",
      run: (deps, context) => switchHook(deps, context, false),
    },
    why: { summary: "Why a hook ran or did not run", run: explainHook },
    order: { summary: "The order in which the hooks of a point run", run: showOrder },
    next: { summary: "What fires next, and when", run: showNext },
    broken: { summary: "Hooks that could not be loaded, and why", run: showBroken },
    test: { summary: "Dry run of a hook", run: testHook },
    pause: { summary: "Pause all configured hooks", role: "admin", run: pauseHooks },
    resume: { summary: "Continue paused hooks", role: "admin", run: resumeHooks },
    add: { summary: "A template for a new hook", run: explainAdding },
  },
  yields: true,
  options: [
    {
      name: "id",
      summary: "The hook (why: may be absent); order: a point; list: part of an id or point, on, off, failing, never",
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
});

/** For a word that is no filter and may be a misspelled one. */
const actionNames = () => hooks.spec.options.find(({ name }) => name === "action")?.choices ?? [];
