/** How much contributions may add to a prompt: cut by priority, and every cut is reported. */
import type { Contribution } from "./contribution.js";
import type { Budget } from "./registration/registration.js";
import type { Diagnostic } from "./signatures.js";

export type Attributed = Contribution & { from: string };

/** The budget of a phase when its caller gives none. */
export const PHASE_BUDGET: Required<Budget> = { entries: 200, characters: 200_000 };

interface Left {
  entries: number;
  characters: number;
}

/** Takes contributions in their order until the phase's budget, or their own hook's, is used up. */
export function applyBudgets(
  contributions: readonly Attributed[],
  phase: Budget,
  ofHook: (id: string) => Budget | undefined,
): { contributions: Attributed[]; diagnostics: Diagnostic[] } {
  const total = leftOf({ ...PHASE_BUDGET, ...phase });
  const own = new Map<string, Left>();
  const kept: Attributed[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const one of contributions) {
    const mine = own.get(one.from) ?? leftOf(ofHook(one.from) ?? {});
    own.set(one.from, mine);
    const cut = cutToFit(one, [total, mine]);
    if (cut.kept !== undefined) kept.push(cut.kept);
    if (cut.lost !== undefined)
      diagnostics.push({ code: "truncated", hookId: one.from, message: `${one.kind} of "${one.from}": ${cut.lost}` });
  }
  return { contributions: kept, diagnostics };
}

function leftOf({ entries, characters }: Budget): Left {
  return { entries: entries ?? Number.POSITIVE_INFINITY, characters: characters ?? Number.POSITIVE_INFINITY };
}

/** Only contributions that go into a prompt as text count. */
function cutToFit(one: Attributed, budgets: readonly Left[]): { kept?: Attributed; lost?: string } {
  switch (one.kind) {
    case "prompt_context": {
      const entries = one.entries.filter((entry) => spend(budgets, entry.text.length));
      const lost = one.entries.length - entries.length;
      if (lost === 0) return { kept: one };
      const message = `${lost} of ${one.entries.length} entries did not fit`;
      return entries.length === 0 ? { lost: message } : { kept: { ...one, entries }, lost: message };
    }
    case "prompt_section": {
      const room = Math.min(...budgets.map((left) => (left.entries > 0 ? left.characters : 0)));
      if (spend(budgets, one.text.length)) return { kept: one };
      const text = cutText(one.text, room);
      const message = `${one.text.length - text.length} of ${one.text.length} characters did not fit`;
      return text === "" ? { lost: message } : { kept: { ...one, text }, lost: message };
    }
    case "policy":
    case "tool_bundle":
    case "audit":
    case "background_job":
    case "noop":
      return { kept: one };
  }
}

/** A contribution that does not fit uses up the budget that it did not fit into: nothing of lower priority slips into the rest. */
function spend(budgets: readonly Left[], characters: number): boolean {
  const tooSmall = budgets.filter((left) => left.entries < 1 || left.characters < characters);
  for (const left of tooSmall) {
    left.entries = 0;
    left.characters = 0;
  }
  if (tooSmall.length > 0) return false;
  for (const left of budgets) {
    left.entries--;
    left.characters -= characters;
  }
  return true;
}

/** At most `room` characters, never half of a surrogate pair. */
function cutText(text: string, room: number): string {
  const last = text.charCodeAt(room - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? room - 1 : room);
}
