/** Trouble on demand: which request it hits, and how often. What the trouble is, each fake says itself. */

export interface Rule<Action> {
  /** Let this many matching requests through first. */
  skip?: number;
  /** Then hit this many; default 1. */
  times?: number;
  /** Hit only with this likelihood. */
  chance?: number;
  action: Action;
}

export class Rules<Action, Kind extends Rule<Action>> {
  #rules: { rule: Kind; left: number; toSkip: number }[] = [];

  add(rule: Kind): void {
    this.#rules.push({ rule, left: rule.times ?? 1, toSkip: rule.skip ?? 0 });
  }

  clear(): void {
    this.#rules = [];
  }

  /** What hits this request, counted down. */
  take(isFor: (rule: Kind) => boolean): Action | undefined {
    for (const one of this.#rules) {
      if (one.left <= 0 || !isFor(one.rule)) continue;
      if (one.toSkip > 0) {
        one.toSkip--;
        continue;
      }
      const { chance, action } = one.rule;
      if (chance !== undefined && Math.random() >= chance) continue;
      one.left--;
      return action;
    }
    return undefined;
  }
}
