/** /api/v1/runs: runs, their results, and firing them again. */
import { z } from "zod";
import { dispatch, listedDispatch, listedRun, oneHookRun, page, pageNumber, pageSize } from "./answers.js";
import { endpoint } from "./endpoint.js";

/** `/run` also takes messages and deliveries, and answers with all that they led to. */
const isOfMessage = (id: string): boolean => /^(m?\d+|d_[^:/]+)$/.test(id.trim());

const id = z.object({
  id: z
    .string()
    .min(1)
    .max(200)
    .refine(
      (id) => !isOfMessage(id),
      "it is the id of a message or a delivery: take the id of a run from GET /api/v1/runs",
    )
    .describe("The id of a dispatch or of a run."),
});

const replayed = { replayOf: z.string(), changes: z.array(z.string()).describe("What is different from then.") };

export const runEndpoints = [
  endpoint({
    method: "GET",
    path: "/runs",
    id: "listRuns",
    summary: "Lists what fired lately, newest first, without payloads and results: `GET /api/v1/runs/:id` has these.",
    query: z.object({
      filter: z
        .string()
        .max(200)
        .optional()
        .describe(
          "Only runs of a hook, of a hook point, `failed`, `configured` (all runs of configured hooks), or a status such as `running`.",
        ),
      page: pageNumber,
      limit: pageSize(200, 50),
    }),
    answer: z.object({
      dispatches: z.array(listedDispatch),
      runs: z.array(listedRun).describe("Only runs of configured hooks."),
      ...page,
    }),
    // In chat, "last" shows one dispatch whole; here it is a page of one.
    command: ({ query: { filter, ...rest } }) => ({
      name: "runs",
      options: filter === "last" ? { ...rest, limit: 1 } : { filter, ...rest },
    }),
  }),
  endpoint({
    method: "GET",
    path: "/runs/:id",
    id: "showRun",
    summary:
      "Shows one dispatch (which hooks ran, what each changed, how long it took), or one run of a configured hook.",
    params: id,
    query: z.object({
      reveal: z
        .enum(["true", "false"])
        .default("false")
        .describe("Show what people wrote; for admins, and recorded in the audit log."),
    }),
    answer: z.union([oneHookRun, dispatch]),
    command: ({ params, query }) => ({
      name: "run",
      options: { id: params.id, reveal: query.reveal === "true" ? true : undefined },
    }),
  }),
  endpoint({
    method: "POST",
    path: "/runs/:id/replay",
    id: "replayRun",
    isLong: true,
    summary: "Fires a past dispatch, or one run of a dispatch, again with the payload of that time.",
    params: id,
    body: z
      .strictObject({
        live: z
          .boolean()
          .default(false)
          .describe("Let hooks send and write; what they decide is only shown. Else it is a dry run."),
      })
      .prefault({}),
    answer: z.union([oneHookRun.extend(replayed), dispatch.extend(replayed)]),
    command: ({ params, body }) => ({ name: "replay", options: { id: params.id, live: body.live } }),
  }),
];
