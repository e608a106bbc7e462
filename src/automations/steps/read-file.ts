/** `- read_file:`: the text of a file in the definition's folder. */
import { z } from "zod";
import { jsonOutput } from "../json-output.js";
import { locate, openFile, pathProblems, readStart, rootField } from "../paths.js";
import type { Step } from "../step.js";

const readFileOptions = z.strictObject({
  path: z.string().min(1).describe("Which file."),
  root: rootField,
});

export const readFileStep: Step<z.output<typeof readFileOptions>> = {
  name: "read_file",
  summary: "Reads a file: its text, its size, and its value where it is JSON.",
  options: readFileOptions,
  verbatim: ["root"],
  places: ["path"],
  fields: {
    path: "string",
    text: "string",
    json: "any",
    sizeBytes: "number",
    modifiedAt: "string",
    truncated: "boolean",
  },
  missing: ({ path, root }, machine) => pathProblems(path, "file", { ...machine, root }),
  async run({ path, root }, context) {
    const { maxBytes } = context;
    const place = await locate(path, root, context, context.folders.path);
    const file = await openFile(place);
    try {
      const { size, mtime } = await file.stat();
      const bytes = await readStart(file, maxBytes);
      const isTruncated = size > bytes.length;
      // A character that was cut in two at the end is left out.
      const text = new TextDecoder("utf-8").decode(bytes, { stream: isTruncated });
      const { json, noJson } = jsonOutput(text, isTruncated ? maxBytes : undefined);
      return {
        value: {
          path: place.name,
          text,
          json,
          sizeBytes: size,
          modifiedAt: mtime.toISOString(),
          truncated: isTruncated,
        },
        noJson,
        text: isTruncated ? `${text}\n[… ${size - bytes.length} bytes cut]` : text,
        isEmpty: text.trim() === "",
      };
    } finally {
      await file.close();
    }
  },
};
