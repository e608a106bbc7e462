/** Runs one recorded background run, and journals it as a dispatch of its own, caused by the one that recorded it. */
import type { Cause } from "../domain/journal.js";
import { errorMessage } from "../lib/errors.js";
import { type BackgroundEnd, type BackgroundRun, failedEnd } from "./background.js";
import { Dispatch } from "./dispatch/dispatch.js";
import { LifecycleRun } from "./dispatch/lifecycle.js";
import { TimedCall } from "./dispatch/timed-call.js";
import type { Kernel } from "./kernel.js";
import type { Firing } from "./options.js";
import type { Entry } from "./registration/entry.js";
import { checkChange, checkClaim, checkContributions, checkPatchAt, type Fields } from "./results.js";
import { HookRun } from "./run.js";

/** Never rejects. `entry` is who is registered under the run's hook id now. */
export async function runBackground(
  kernel: Kernel,
  entry: Entry | undefined,
  run: BackgroundRun,
  attempt: number,
): Promise<BackgroundEnd> {
  if (entry === undefined || !entry.enabled || entry.point.name !== run.hook) return { kind: "gone" };
  const cause: Cause = { kind: "hook", id: run.dispatchId, depth: (run.cause?.depth ?? 0) + 1 };
  const firing: Firing = {
    dispatchId: `${run.id}:${attempt}`,
    attempt,
    cause,
    recordId: run.id,
    conversation: run.conversation,
    messageId: run.messageId,
  };
  return new BackgroundDispatch(kernel, entry.point, [entry], run.payload, firing, run.phase).run(entry, run);
}

class BackgroundDispatch extends Dispatch {
  run(entry: Entry, { idempotent, stops = 0 }: BackgroundRun): Promise<BackgroundEnd> {
    const context =
      this.phase === undefined ? new HookRun(this, entry) : new LifecycleRun(this, entry, this.phase, this.view());
    const startedMs = this.startMs();
    return new Promise((resolve) => {
      TimedCall.start(
        this.kernel.wheel,
        context,
        () => (this.phase === undefined ? entry.handler(this.view(), context) : entry.handler(context)),
        (end) => {
          const settled = this.judged(end);
          if (settled.kind === "interrupted") {
            const isRepeatable = idempotent === true;
            const reason = cutOffError(settled.error, isRepeatable);
            this.reportDetached(entry, startedMs, reason, "interrupted", isRepeatable ? "info" : "warn");
            this.recording?.end(this, { outcome: "interrupted" });
            resolve({ kind: "interrupted", reason: errorMessage(settled.error) });
            return;
          }
          const error = settled.kind === "passed" ? this.#take(entry, startedMs, settled.value) : settled.error;
          if (error !== undefined)
            this.reportDetached(entry, startedMs, error, settled.kind === "timed_out" ? "timed_out" : "failed");
          this.recording?.end(this, { outcome: error === undefined ? "passed" : "failed" });
          resolve(error === undefined ? { kind: "done" } : failedEnd(error, this.attempt - stops, entry.options.retry));
        },
        (error) => this.ignoreLate(entry, error),
      );
    });
  }

  /**
   * Nothing takes its decision, but a handler that asks (`context.check`) is refused a result that its point would refuse: a test shows that
   * before real traffic does.
   */
  override check(entry: Entry, value: unknown): string | undefined {
    switch (this.point.model) {
      case "modifying":
        checkPatchAt(this.point, this.payload as Fields, value);
        break;
      case "claiming":
        checkClaim(value, this.point.result);
        break;
      case "lifecycle":
        checkChange(this.payload, value, this.point);
        break;
      case "turn":
        checkContributions(value, entry.capabilities, entry.execution);
        break;
      case "void":
    }
    return undefined;
  }

  /** Gives the error of a response that a background run may not make. */
  #take(entry: Entry, startedMs: number, value: unknown): unknown {
    try {
      const contributions =
        this.point.model === "turn" ? checkContributions(value, entry.capabilities, entry.execution) : [];
      this.note(entry, startedMs, {
        outcome: "passed",
        diff: contributions.length === 0 ? undefined : contributions,
      });
      return undefined;
    } catch (error) {
      return error;
    }
  }
}

/** The log line of this error is the only notice of lost work. */
function cutOffError(error: unknown, isRepeatable: boolean): unknown {
  return isRepeatable ? error : new Error(`${errorMessage(error)}, and it may not run twice`);
}
