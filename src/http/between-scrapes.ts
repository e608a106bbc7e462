/**
 * Counters and histograms that cost a map's look-up. prom-client checks and hashes labels at every count, 24 of which belong to one
 * message; it gets the sums when metrics are read.
 */
import { Counter, Histogram, type Registry } from "prom-client";

/** Upper bounds, in seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export interface CounterOptions {
  name: string;
  help: string;
  labelNames: [string, string];
  registers: Registry[];
}

/** The returned function counts one under these values of the labels. */
export function countBetweenScrapes({ name, help, labelNames, registers }: CounterOptions) {
  const counts = new Map<string, { other: string; count: number }[]>();
  new Counter({
    name,
    help,
    labelNames,
    registers,
    collect() {
      this.reset();
      const [first, second] = labelNames;
      for (const [one, byOther] of counts)
        for (const { other, count } of byOther) this.inc({ [first]: one, [second]: other }, count);
    },
  });
  return (one: string, other: string): void => {
    let byOther = counts.get(one);
    if (!byOther) {
      byOther = [];
      counts.set(one, byOther);
    }
    // Few, and mostly the first of them: outcomes, kinds, statuses.
    for (let i = 0; i < byOther.length; i++) {
      const known = byOther[i] as { other: string; count: number };
      if (known.other !== other) continue;
      known.count++;
      return;
    }
    byOther.push({ other, count: 1 });
  };
}

export interface TimerOptions {
  name: string;
  help: string;
  labelName: string;
  registry: Registry;
}

/** How often it took how long: a count for each bound, and one for times longer than all of them. */
interface Times {
  counts: number[];
  sumMs: number;
}

/** The returned function notes how many milliseconds something took, under this value of the label. */
export function timeBetweenScrapes({ name, help, labelName, registry }: TimerOptions) {
  const byLabel = new Map<string, Times>();
  registry.registerMetric(new Timer({ name, help, labelNames: [labelName], buckets: SECONDS, registers: [] }, byLabel));
  return (label: string, ms: number): void => {
    let times = byLabel.get(label);
    if (!times) {
      times = { counts: new Array<number>(SECONDS.length + 1).fill(0), sumMs: 0 };
      byLabel.set(label, times);
    }
    const seconds = ms / 1000;
    let at = 0;
    while (at < SECONDS.length && seconds > (SECONDS[at] as number)) at++;
    (times.counts[at] as number)++;
    times.sumMs += ms;
  };
}

class Timer extends Histogram {
  readonly #options: { name: string; help: string; labelNames: string[] };
  readonly #byLabel: ReadonlyMap<string, Times>;

  constructor(
    options: { name: string; help: string; labelNames: string[]; buckets: number[]; registers: Registry[] },
    byLabel: ReadonlyMap<string, Times>,
  ) {
    super(options);
    this.#options = options;
    this.#byLabel = byLabel;
  }

  /** The samples for prom-client's registry. https://prometheus.io/docs/instrumenting/exposition_formats/#histograms-and-summaries */
  async getForPromString() {
    const { name, help, labelNames } = this.#options;
    const [labelName = ""] = labelNames;
    const values = [...this.#byLabel].flatMap(([label, { counts, sumMs }]) => {
      const labels = { [labelName]: label };
      let total = 0;
      const buckets = counts.map((count, at) => {
        total += count;
        return { metricName: `${name}_bucket`, labels: { le: SECONDS[at] ?? "+Inf", ...labels }, value: total };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sumMs / 1000 },
        { metricName: `${name}_count`, labels, value: total },
      ];
    });
    return { name, help, type: "histogram", values, aggregator: "sum" };
  }
}
