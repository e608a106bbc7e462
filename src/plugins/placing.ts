/** Puts versions of plugins that are set up in place, beside each other and in place of others, or takes them back. */
import { isUnfit } from "../hooks/registration/validate.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { blames, type Holder, mayDependOnOthers, type Prepared, type Ready } from "./holder.js";
import { failure } from "./load.js";
import {
  type Candidate,
  LivePlugin,
  over,
  type Placement,
  problemKey,
  problemsOf,
  type Surroundings,
} from "./reload.js";

export class Placing {
  readonly #around: Surroundings;
  /** The current holders: a reload exchanges the list. */
  readonly #holders: () => readonly Holder[];

  constructor(around: Surroundings, holders: () => readonly Holder[]) {
    this.#around = around;
    this.#holders = holders;
  }

  /** Puts a version in place; the version that it replaces ends when its placement is settled. Throws, with everything as it was. */
  put({ holder, candidate }: Ready, how: { isReload: boolean; checked: boolean }): Placement[] {
    const { id } = candidate.definition;
    this.#refuseTwice(holder, id);
    const replaced = [
      holder,
      ...this.#holders().filter((one) => one.isGone && this.#isReplacedBy(candidate, one.live)),
    ];
    const same = replaced.find(({ live }) => live?.id === id)?.live;
    const live = same ?? new LivePlugin(id, this.#around);
    const placed = live.place(candidate, { checked: how.checked });
    const withdrawn = replaced.flatMap((one) => (one.live && one.live !== live ? this.withdraw(one.live, one) : []));
    const before = replaced.map((one) => ({ ...one }));
    for (const one of replaced) one.live = undefined;
    Object.assign(holder, { live, reason: undefined, isRefused: false, loadedAt: this.#around.clock.now() });
    const takeBack = () => {
      placed.takeBack();
      for (const [index, one] of replaced.entries()) Object.assign(one, before[index]);
    };
    const settle = async () => {
      this.#around.logger.info(
        { plugin: id, module: holder.entry.module, hooks: live.hooks },
        how.isReload && same ? "plugin reloaded" : "plugin loaded",
      );
      // At a start, warnings are in the list of problems, which is logged.
      if (how.isReload)
        for (const warning of live.warnings) this.#around.logger.warn({ plugin: id }, `plugin "${id}": ${warning}`);
      await placed.settle();
    };
    return [{ takeBack, settle }, ...withdrawn];
  }

  /** The candidate has the id of `live`, or one of its commands. */
  #isReplacedBy({ definition, stage }: Candidate, live: LivePlugin | undefined): boolean {
    if (live === undefined) return false;
    const own = new Set(this.#around.commands.get(live.id)?.map(({ name }) => name));
    return live.id === definition.id || stage.commands.some(({ name }) => own.has(name));
  }

  withdraw(live: LivePlugin, { entry }: Holder): Placement {
    const { id, hooks } = live;
    const { takeBack, settle } = live.withdraw();
    const logAndSettle = () => {
      this.#around.logger.info({ plugin: id, module: entry.module, hooks }, "plugin removed");
      return settle();
    };
    return { takeBack, settle: logAndSettle };
  }

  /**
   * Puts versions in place one by one, again while that helps, then the rest together: they may name each other's hooks. Failures are
   * reported.
   */
  putAll(prepared: readonly Prepared[], isRetry: boolean): Placement[] {
    const placements: Placement[] = [];
    const errors = new Map<Prepared, unknown>(prepared.map((one) => [one, "error" in one && one.error]));
    let left = prepared.filter((one) => "candidate" in one);
    let count: number;
    do {
      count = left.length;
      left = left.filter((one) => {
        try {
          placements.push(...this.put(one, { isReload: true, checked: true }));
          errors.delete(one);
          return false;
        } catch (error) {
          errors.set(one, error);
          return true;
        }
      });
      if (left.length < count) continue;
      const together = this.#putTogether(left);
      placements.push(...together.placements);
      for (const one of together.placed) errors.delete(one);
      left = left.filter((one) => errors.has(one));
    } while (left.length < count);
    for (const [one, error] of errors) this.report(one.holder, error, { isRefused: mayDependOnOthers(one), isRetry });
    for (const { candidate } of left)
      placements.push({ takeBack: () => {}, settle: () => over(candidate, this.#around), isRefusal: true });
    return placements;
  }

  /**
   * Declares the points of all candidates first, as their hooks may be registered at each other's. Leaves out those whose hooks wait for
   * each other even so.
   */
  #putTogether(candidates: readonly Ready[]): { placed: readonly Ready[]; placements: Placement[] } {
    const { registry } = this.#around;
    const known = new Set(candidates.length > 1 ? problemsOf(this.#around).map(problemKey) : []);
    let wanted = candidates;
    while (wanted.length > 1) {
      const placements: Placement[] = [];
      const takeBackPoints = registry.mark();
      let refused: readonly Ready[] = [];
      try {
        const there = new Set<string>(registry.points.map(({ name }) => name));
        for (const point of wanted.flatMap(({ candidate }) => candidate.stage.points))
          if (!there.has(point.name)) registry.declare(point);
        for (const one of wanted) {
          refused = [one]; // when it fails: that is reported
          placements.push(...this.put(one, { isReload: true, checked: false }));
        }
        const problems = problemsOf(this.#around).filter((one) => isUnfit(one) && !known.has(problemKey(one)));
        if (problems.length === 0) return { placed: wanted, placements };
        refused = wanted.filter(({ holder }) => holder.live?.hooks.some((id) => problems.some(blames(id))));
      } catch {}
      for (const placement of placements.reverse()) placement.takeBack();
      takeBackPoints();
      if (refused.length === 0) break;
      wanted = wanted.filter((one) => !refused.includes(one));
    }
    return { placed: [], placements: [] };
  }

  #refuseTwice(holder: Holder, id: string): void {
    const other = this.#holders().find((one) => one !== holder && !one.isGone && one.live?.id === id);
    if (other === undefined) return;
    throw failure(
      "PLUGIN_TWICE",
      `the id "${id}" is taken by ${other.entry.module}`,
      "Name a plugin once, or give it another id.",
    );
  }

  report(holder: Holder, error: unknown, how: { isRefused: boolean; isRetry?: boolean }): void {
    const before = holder.reason;
    const message = errorMessage(error);
    const hint = error instanceof HookgateError && error.hint ? ` ${error.hint}` : "";
    const what = `${message}${/[.?!]$/.test(message) ? "" : "."}${hint}`;
    holder.reason = holder.live ? `the new version failed, the previous one stays in place: ${what}` : what;
    holder.isRefused = how.isRefused;
    if (how.isRetry && holder.reason === before) return;
    const facts = { module: holder.entry.module, file: holder.file, plugin: holder.live?.id, error };
    this.#around.logger.error(facts, holder.live ? `plugin not reloaded: ${what}` : `plugin broken: ${what}`);
  }
}
