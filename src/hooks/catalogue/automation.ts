/** The automation family: what starts operator-defined hooks besides messages and time. */
import { z } from "zod";
import { definePoint } from "../point.js";

const change = {
  path: z.string(),
  /** From the folder of the file that defines the hook. */
  relativePath: z.string(),
  operation: z.enum(["created", "modified", "deleted"]),
  /** 0 when it is gone. */
  sizeBytes: z.number(),
};
const example = {
  path: "/srv/site/posts/first.md",
  relativePath: "posts/first.md",
  operation: "modified" as const,
  sizeBytes: 1834,
};

export const fileChanged = definePoint({
  name: "file.changed",
  model: "void",
  payload: z.object({ ...change, watchId: z.string() }),
  summary:
    "Once for every file that a watch saw change, when it has been quiet for a moment; also for what changed while nobody watched.",
  example: { ...example, watchId: "site-check" },
});

export const folderChanged = definePoint({
  name: "folder.changed",
  model: "void",
  payload: z.object({
    path: z.string(),
    changes: z.array(z.object(change)),
    count: z.number().int(),
    watchId: z.string(),
  }),
  summary: "Once for all files of a watch that changed together (`as: folder`).",
  example: { path: "/srv/site/posts", changes: [example], count: 1, watchId: "site-check" },
});

export const automationPoints = [fileChanged, folderChanged] as const;
