/** What `/hooks` does; any other word filters the list. */
export const HOOK_ACTIONS = {
  list: "The hooks, by point; other words filter, such as /hooks deploy",
  show: "One hook: state, order, limits, last fires",
  enable: "Switch a hook on",
  disable: "Switch a hook off, also across restarts",
  why: "Why a hook ran or did not run",
  order: "The order in which the hooks of a point run",
  next: "What fires next, and when",
  broken: "Hooks that could not be loaded, and why",
  test: "Dry run of a hook",
  pause: "Pause all configured hooks",
  resume: "Continue paused hooks",
  add: "A template for a new hook",
} as const;
