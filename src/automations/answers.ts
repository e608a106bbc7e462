/** Answers the named queries of `queries.ts` from the store: newest first, bounded, only facts that are worth reporting. */
import { setImmediate } from "node:timers/promises";
import { AUTOMATION_RUN_STATUSES, type AutomationRun, STARTED_STATUSES } from "../domain/automation.js";
import type { About } from "../domain/chat/hearing.js";
import { type Fate, fatesOf, worstOf } from "../domain/deliveries/fates.js";
import { purgeFinder } from "../domain/deliveries/purges.js";
import { type DispatchRecord, OUTCOMES } from "../domain/journal.js";
import { DELIVERY_STATUSES, type Delivery, type DeliveryStatus, type InboxRow, type Store } from "../domain/store.js";
import type { HookRegistry } from "../hooks/registry.js";
import type { Clock } from "../lib/time/clock.js";
import { parseDuration } from "../lib/time/duration.js";
import { nearest } from "../lib/validation/nearest.js";
import { valueProblem } from "../lib/validation/value-problem.js";
import { MASKED, oneOf, type Query, type Row, timeOf, wrong } from "./answers/query.js";
import type { RowOf } from "./answers/rows.js";
import { alerts, missions, tasks } from "./answers/work.js";
import { INBOX_STATUSES, type QueryName, queries } from "./queries.js";

export type Ask = (name: string, args: Readonly<Record<string, unknown>>) => Promise<readonly Row[]>;

export interface AnswerDeps {
  store: Pick<Store, "inbox" | "outbox" | "audit" | "journal" | "automation" | "tasks" | "missions" | "alerts">;
  registry: Pick<HookRegistry, "list">;
  /** The state of the gateway. */
  status(): Promise<object>;
  /** Whether any operator may read texts about this; else no row has them. */
  mayOperatorsHear(of: About): Promise<boolean>;
  clock: Clock;
}

/** How many rows are searched in one turn for those that a query wants; then other callers have their turn. */
const ROWS_AT_ONCE = 1_000;
/** How many dispatches are read in one turn: a record of the journal is stored with its payload, which may be as long as an event. */
const DISPATCHES_AT_ONCE = 10;

export function answers(deps: AnswerDeps): Ask {
  const byName: Record<QueryName, (query: Query) => Promise<Row[]>> = {
    runs: (wanted) => runs(deps, wanted),
    messages: (wanted) => messages(deps, wanted),
    deliveries: (wanted) => deliveries(deps, wanted),
    dispatches: (wanted) => dispatches(deps, wanted),
    hooks: (wanted) => hooks(deps, wanted),
    tasks: (wanted) => tasks(deps, wanted),
    missions: (wanted) => missions(deps.store, wanted),
    alerts: (wanted) => alerts(deps.store, wanted),
    status: async () => [{ ...(await deps.status()) }],
  };
  return async (name, given) => {
    if (!isQuery(name)) {
      const near = nearest(name, Object.keys(queries));
      throw wrong(`there is no query "${name}"${near === undefined ? "" : ` (did you mean "${near}"?)`}`);
    }
    const { args } = queries[name];
    const parsed = args.safeParse(given);
    if (!parsed.success) throw wrong(valueProblem(args, given) ?? "");
    return byName[name](wantedOf(parsed.data, deps.clock.now()));
  };
}

const isQuery = (name: string): name is QueryName => Object.hasOwn(queries, name);

function wantedOf(args: Readonly<Record<string, unknown>>, now: number): Query {
  const text = (name: string) => (typeof args[name] === "string" ? args[name] : undefined);
  return {
    limit: typeof args.limit === "number" ? args.limit : 1000,
    since: sinceOf(text("since"), now),
    text,
  };
}

function sinceOf(text: string | undefined, now: number): number {
  if (text === undefined) return 0;
  const ago = parseDuration(text);
  const at = ago === undefined ? Date.parse(text) : now - ago;
  if (Number.isNaN(at)) throw wrong(`since: expected 1h or a time such as 2026-11-21T09:00:00Z, got "${text}"`);
  return at;
}

async function runs({ store, mayOperatorsHear }: AnswerDeps, { limit, since, text }: Query): Promise<RowOf<"runs">[]> {
  const hookId = text("hook");
  const status = oneOf(AUTOMATION_RUN_STATUSES, text("status"), "status");
  const found = await store.automation.runs.brief({
    limit: Math.max(limit, 1),
    hookId,
    status,
  });
  const findPurge = purgeFinder({ store });
  const rows: RowOf<"runs">[] = [];
  for (const { id, createdAt } of found) {
    const run = createdAt < since ? undefined : await store.automation.runs.get(id);
    if (run === undefined) continue;
    const heard = heardBy(await mayOperatorsHear({ ...run, id: run.dispatchId ?? id }));
    rows.push({ ...runRow(run, heard), messages: messagesOf(await fatesOf({ store }, run, findPurge)) });
    await setImmediate();
  }
  return rows;
}

function runRow(run: AutomationRun, heard: Heard): Omit<RowOf<"runs">, "messages"> {
  const last = run.attempts.at(-1);
  return {
    id: run.id,
    hook: run.hookId,
    status: run.status,
    reason: heard(run.statusReason),
    trigger: run.reason,
    event: run.event ?? null,
    error: heard(last?.error),
    attempt: run.attempt,
    at: timeOf(run.createdAt),
    ended_at: timeOf(run.endedAt),
  };
}

/** The worst fate of the messages that the run sent; null where it sent none. */
const messagesOf = (fates: readonly Fate[]) => worstOf(fates) ?? null;

async function messages({ store }: AnswerDeps, { limit, since, text }: Query): Promise<RowOf<"messages">[]> {
  const status = oneOf(INBOX_STATUSES, text("status"), "status");
  const [platform, chat, user] = [text("platform"), text("chat"), text("user")];
  const rows: RowOf<"messages">[] = [];
  const pages = pagesOf<InboxRow>((before) =>
    store.inbox.list({
      limit: ROWS_AT_ONCE,
      status,
      before: before?.id,
    }),
  );
  for await (const { event, status: now, receivedAt, outcome } of pages) {
    if (rows.length >= limit || receivedAt < since) break;
    if (event.kind !== "message") continue;
    const { message } = event;
    if (platform !== undefined && message.platform !== platform) continue;
    if (chat !== undefined && message.chatId !== chat) continue;
    if (user !== undefined && message.userId !== user) continue;
    rows.push({
      platform: message.platform,
      chat: message.chatId,
      user: message.userId,
      name: message.displayName ?? message.username ?? null,
      text: message.text,
      status: now,
      outcome: outcome ?? null,
      at: timeOf(receivedAt),
    });
  }
  return rows;
}

async function deliveries(deps: AnswerDeps, { limit, since, text }: Query): Promise<RowOf<"deliveries">[]> {
  const status: DeliveryStatus | undefined = oneOf(DELIVERY_STATUSES, text("status"), "status");
  const [platform, chat] = [text("platform"), text("chat")];
  const { store } = deps;
  const rows: RowOf<"deliveries">[] = [];
  const pages = pagesOf<Delivery>((before) =>
    store.outbox.list({
      limit: ROWS_AT_ONCE,
      status,
      before: before?.id,
    }),
  );
  for await (const one of pages) {
    if (rows.length >= limit || one.createdAt < since) break;
    if (platform !== undefined && one.address.platform !== platform) continue;
    if (chat !== undefined && one.address.chatId !== chat) continue;
    // A reason may quote the message, so it is for the same people.
    const mayHear = await deps.mayOperatorsHear({ id: one.id, cause: one.cause });
    const heard = heardBy(mayHear);
    rows.push({
      id: one.id,
      platform: one.address.platform,
      chat: one.address.chatId,
      status: one.status,
      reason: heard(one.reason),
      text: heard((one.frozen ?? one.message)?.text),
      attempts: one.attempts,
      at: timeOf(one.createdAt),
    });
  }
  return rows;
}

type Heard = (words: string | undefined) => string | null;

const heardBy =
  (mayHear: boolean): Heard =>
  (words) =>
    words === undefined ? null : mayHear ? words : MASKED;

/** All rows, newest first, a page at a time: the caller stops when it has enough. */
async function* pagesOf<Row>(
  page: (before: Row | undefined) => Promise<Row[]>,
  size = ROWS_AT_ONCE,
): AsyncGenerator<Row> {
  let last: Row | undefined;
  for (;;) {
    const rows = await page(last);
    yield* rows;
    last = rows.at(-1);
    if (rows.length < size) return;
    await setImmediate();
  }
}

async function dispatches(
  { store, mayOperatorsHear }: AnswerDeps,
  { limit, since, text }: Query,
): Promise<RowOf<"dispatches">[]> {
  const [point, hookId] = [text("point"), text("hook")];
  const outcome = oneOf(OUTCOMES, text("outcome"), "outcome");
  const rows: RowOf<"dispatches">[] = [];
  let read = 0;
  const pages = pagesOf<DispatchRecord>(
    (before) => store.journal.list({ limit: DISPATCHES_AT_ONCE, point, hookId, outcome, before: before?.id }),
    DISPATCHES_AT_ONCE,
  );
  for await (const dispatch of pages) {
    if (++read > limit) break;
    if (dispatch.at < since) continue;
    const { id, latencyMs, at, runs } = dispatch;
    const words = runs.map((run) => run.reason ?? run.error);
    // Its payload is unpacked only for the words that it decides about.
    const heard = heardBy(words.every((one) => one === undefined) || (await mayOperatorsHear(dispatch)));
    rows.push({
      id,
      point: dispatch.point,
      outcome: dispatch.outcome,
      latency_ms: latencyMs,
      at: timeOf(at),
      runs: runs.map((run, index) => ({ hook: run.hookId, outcome: run.outcome, reason: heard(words[index]) })),
    });
    await setImmediate();
  }
  return rows;
}

async function hooks({ store, registry }: AnswerDeps, { limit, text }: Query): Promise<RowOf<"hooks">[]> {
  const stats = await store.journal.stats();
  const wanted = text("hook");
  const found = registry
    .list()
    .filter(({ id }) => wanted === undefined || id === wanted)
    .slice(0, limit);
  const findPurge = purgeFinder({ store });
  return Promise.all(
    found.map(async ({ id, hook, enabled, pluginId }) => {
      const one = stats.get(id);
      const [last] = await store.automation.runs.list({ hookId: id, status: STARTED_STATUSES, limit: 1 });
      return {
        id,
        point: hook,
        enabled,
        plugin: pluginId ?? null,
        fires: one?.fires ?? 0,
        failures: one?.failures ?? 0,
        last_fired_at: timeOf(one?.lastFiredAt),
        last_outcome: one?.lastOutcome ?? null,
        last_messages: last === undefined ? null : messagesOf(await fatesOf({ store }, last, findPurge)),
      };
    }),
  );
}
