/** The handler, once its options are rendered. It ends soon after the run's signal fires, in any case. */
import type { HandlerCall } from "../definition/definition.js";
import type { HandlerResult } from "../handler.js";
import { errorWithoutPaths } from "../paths.js";
import type { RunContext } from "../run-context.js";
import type { TemplateScope } from "../template.js";

/** After the signal, for processes to be killed and connections to be closed. */
const GRACE_MS = 2_000;

/** Never rejects. */
export async function callHandler(
  { handler, rendering }: HandlerCall,
  scope: TemplateScope,
  context: RunContext,
): Promise<HandlerResult> {
  const failed = (error: unknown): HandlerResult => ({
    kind: "failed",
    error: errorWithoutPaths(error, context.folder),
    isRetryable: false,
  });
  const { signal, clock } = context;
  const work = async (): Promise<HandlerResult> => {
    signal.throwIfAborted();
    return handler.run(rendering.render(scope), context);
  };
  let cancel = () => {};
  const late = new Promise<HandlerResult>((resolve) => {
    const onAbort = () => {
      const timer = clock.after(GRACE_MS, () => resolve(failed(signal.reason)));
      cancel = () => timer.cancel();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    cancel = () => signal.removeEventListener("abort", onAbort);
  });
  try {
    return await Promise.race([work(), late]);
  } catch (error) {
    return failed(error);
  } finally {
    cancel();
  }
}
