/** Latencies in logarithmic buckets: eight to a doubling, so a percentile is right to within 5 %. Plain objects, stored as JSON. */

/** Bucket → count. */
export type Histogram = Record<number, number>;

const PER_DOUBLING = 8;
/** All latencies below this are one bucket. */
const LOWEST_MS = 0.001;

export function addLatency(histogram: Histogram, latencyMs: number): void {
  const bucket = latencyMs <= LOWEST_MS ? 0 : 1 + Math.floor(Math.log2(latencyMs / LOWEST_MS) * PER_DOUBLING);
  histogram[bucket] = (histogram[bucket] ?? 0) + 1;
}

export function addHistogram(sum: Histogram, more: Histogram): void {
  for (const [bucket, count] of Object.entries(more)) sum[Number(bucket)] = (sum[Number(bucket)] ?? 0) + count;
}

/** The latency that the share `quantile` of all stays at or below; undefined when there are none. */
export function percentile(histogram: Histogram, quantile: number): number | undefined {
  // Integer-like keys of an object come in ascending order.
  const buckets = Object.entries(histogram);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  let left = Math.ceil(total * quantile);
  for (const [bucket, count] of buckets) {
    left -= count;
    if (left <= 0) return middleMs(Number(bucket));
  }
  return undefined;
}

function middleMs(bucket: number): number {
  return bucket === 0 ? LOWEST_MS : LOWEST_MS * 2 ** ((bucket - 0.5) / PER_DOUBLING);
}
