/**
 * Collects the traces of plugins and modules of hooks in timers and promises while a check loads them: errors that nothing
 * catches, and calls of `process.exit`, which are refused meanwhile.
 */
import type { ListedProblem } from "../app/problems/problems.js";
import type { LoadedConfig } from "../config/load.js";
import { errorPlace } from "../lib/error-place.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { placeInOrBelow } from "../lib/files/module-place.js";
import { refuseExit } from "../lib/process/refuse-exit.js";
import type { PluginInfo } from "../plugins/infos.js";

export interface StrayWatch {
  /** The problems collected so far, except those that are a plugin's `reason` already. */
  problems(loaded: LoadedConfig, plugins: readonly PluginInfo[]): ListedProblem[];
  end(): void;
}

const EXIT_CALLED = "EXIT_CALLED";
const events: NodeJS.EventEmitter = process;

export function watchStrays(): StrayWatch {
  const thrown = new Set<unknown>();
  const onStray = (error: unknown) => void thrown.add(error);
  /** A plugin may listen, too: an error of its listener (`process.exit` throws here) would end the process if Node called it. */
  const onUncaught = (error: Error) => {
    onStray(error);
    try {
      events.emit("uncaughtException", error, "uncaughtException");
    } catch (thrownByListener) {
      onStray(thrownByListener);
    }
  };
  process.setUncaughtExceptionCaptureCallback(onUncaught);
  process.on("unhandledRejection", onStray);
  const allowExit = refuseExit((code, call) => {
    const refusal = new HookgateError({ code: EXIT_CALLED, message: `called process.${call}(${code ?? ""})` });
    thrown.add(refusal);
    return refusal;
  });
  return {
    problems: (loaded, plugins) =>
      [...thrown].flatMap((error) => {
        const owner = plugins.find((info) => placeInOrBelow(error, info) !== "");
        const suspects = owner === undefined ? plugins : [owner];
        const isListed = suspects.some(({ reason }) => reason?.includes(errorMessage(error)));
        return isListed ? [] : [strayProblem(error, owner, loaded, plugins)];
      }),
    end() {
      allowExit();
      process.setUncaughtExceptionCaptureCallback(null);
      process.off("unhandledRejection", onStray);
    },
  };
}

function strayProblem(
  error: unknown,
  owner: PluginInfo | undefined,
  loaded: LoadedConfig,
  plugins: readonly PluginInfo[],
): ListedProblem {
  const modules = plugins.flatMap(({ module, state }) => (state === "off" ? [] : [module]));
  const someone = `${modules.length > 0 ? `a plugin (${modules.join(", ")}) or ` : ""}the module of a hook`;
  const who = owner ? `${owner.module}: after its setup, it` : someone;
  const elsewhere = owner ? undefined : errorPlace(error);
  const place = owner ? placeInOrBelow(error, owner) : elsewhere === undefined ? "" : ` (${elsewhere})`;
  const what =
    error instanceof HookgateError && error.code === EXIT_CALLED
      ? `${error.message}${place}. That ends a running gateway: throw an error instead`
      : `threw an error that nothing caught: ${errorMessage(error)}${place}. A running gateway logs such an error and goes on`;
  return problemAt(owner?.module, `${who} ${what}`, loaded);
}

/** A problem that a plugin causes besides its setup, at its entry in the configuration. */
export function problemAt(
  plugin: string | undefined,
  message: string,
  { file, placeOf, pathOf, draft }: LoadedConfig,
): ListedProblem {
  const index = draft?.config.plugins.findIndex(({ module }) => module === plugin) ?? -1;
  const path = index < 0 ? ["plugins"] : ["plugins", index];
  return {
    file: file ?? "",
    ...placeOf?.(path),
    path: (pathOf?.(path) ?? path).join("."),
    message,
    of: "stray",
  };
}
