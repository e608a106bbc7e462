/** Keeps code that others wrote from ending the process. */
import { syncBuiltinESMExports } from "node:module";

/** How the product itself ends the process: `process.exit` as it was at the start, which nothing refuses. */
export const endProcess: typeof process.exit = process.exit;

/**
 * Until the function that it returns is called, `process.exit` throws `refusal(code)` in place of ending the process. It may be called
 * again meanwhile; those are undone in reverse order.
 */
export function refuseExit(refusal: (code: number | string | null | undefined) => Error): () => void {
  const before = process.exit;
  let isOver = false;
  process.exit = (code) => {
    // A caller that kept the function from back then.
    if (isOver) return before(code);
    throw refusal(code);
  };
  // For `import { exit } from "node:process"`.
  syncBuiltinESMExports();
  return () => {
    isOver = true;
    process.exit = before;
    syncBuiltinESMExports();
  };
}
