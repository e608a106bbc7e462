/** What `/hooks` does; any other word filters the list. */
export const HOOK_ACTIONS = [
  "list",
  "show",
  "enable",
  "disable",
  "why",
  "order",
  "next",
  "broken",
  "test",
  "pause",
  "resume",
  "add",
] as const;
