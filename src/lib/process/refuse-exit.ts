/** Keeps code that others wrote from ending the process. */
import { syncBuiltinESMExports } from "node:module";

/** Node ends the process with it at the end of `process.exit`; some packages call it themselves. Its types leave it out. */
interface Exits {
  exit(code?: number | string | null): never;
  reallyExit(code?: number | string | null): never;
}
const exits: Exits = process as typeof process & Exits;
const original: Exits = { exit: exits.exit, reallyExit: exits.reallyExit };

/** How the product itself ends the process: `process.exit` as it was at the start, which nothing refuses. */
export const endProcess: typeof process.exit = (...code) => {
  exits.reallyExit = original.reallyExit;
  // Without an argument it keeps `process.exitCode`; an undefined one sets it to 0.
  return original.exit.apply(process, code);
};

/** The key of the original `reallyExit`, for a debugger, which has no module scope: `process[Symbol.for(REALLY_EXIT)](code)`. */
export const REALLY_EXIT = "hookgate.reallyExit";
Object.defineProperty(process, Symbol.for(REALLY_EXIT), { value: original.reallyExit, configurable: true });

type Refusal = (code: number | string | null | undefined, call: keyof Exits) => Error | undefined;

/**
 * Until the function that it returns is called, `process.exit` and `process.reallyExit` throw `refusal(code, call)` in place of ending the
 * process; where that gives nothing, they do the same as before. It may be called again meanwhile; those are undone in reverse order.
 */
export function refuseExit(refusal: Refusal): () => void {
  const before = { exit: exits.exit, reallyExit: exits.reallyExit };
  let isOver = false;
  for (const call of ["exit", "reallyExit"] as const)
    exits[call] = (...code) => {
      // After the end it is called by code that kept the function from back then.
      const error = isOver ? undefined : refusal(code[0], call);
      if (error === undefined) return before[call].apply(process, code);
      throw error;
    };
  // For `import { exit } from "node:process"`.
  syncBuiltinESMExports();
  return () => {
    isOver = true;
    Object.assign(exits, before);
    syncBuiltinESMExports();
  };
}
