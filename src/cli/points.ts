/** `hookgate points`: the points to which hooks can subscribe. */
import { z } from "zod";
import { align } from "../../commands/show/text.js";
import { catalogue } from "../hooks/catalogue/index.js";
import type { AnyPoint } from "../hooks/signatures.js";
import { HookgateError } from "../lib/errors.js";
import { nearest } from "../lib/validation/nearest.js";
import { EXIT, type ExitCode } from "./exit.js";
import { printJson, type Terminal } from "./terminal.js";

export async function points(
  { filter, json }: { filter: string; json: boolean },
  terminal: Terminal,
): Promise<ExitCode> {
  const all: readonly AnyPoint[] = catalogue;
  const found = all.filter(({ name }) => name.toLowerCase().includes(filter.toLowerCase()));
  if (found.length === 0) {
    const near = nearest(
      filter,
      all.map(({ name }) => name),
    );
    throw new HookgateError({
      code: "BAD_USAGE",
      message: `No hook point matches "${filter}".${near ? ` Did you mean "${near}"?` : ""}`,
      hint: "`npx hookgate points` lists them all.",
    });
  }
  if (json) printJson(terminal, found.map(pointData));
  else
    terminal.out(
      align(
        [{ title: "POINT" }, { title: "MODEL" }, { title: "VETO" }, { title: "FIRED", maxCharacters: 120 }],
        found.map((point) => [point.name, point.model, point.vetoable ? "yes" : "no", point.summary]),
      ),
    );
  return EXIT.done;
}

function pointData(point: AnyPoint) {
  return {
    name: point.name,
    model: point.model,
    phases: point.phases,
    vetoable: point.vetoable,
    summary: point.summary,
    payload: z.toJSONSchema(point.payload, { unrepresentable: "any" }),
    result: point.result && z.toJSONSchema(point.result, { unrepresentable: "any" }),
    example: point.example,
  };
}
