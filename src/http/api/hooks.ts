/** /api/v1/hooks: the installed hooks, switching them, and firing them. */
import { z } from "zod";
import {
  brokenHook,
  dispatch,
  hookDetail,
  hookRow,
  oneHookRun,
  page,
  pageNumber,
  pageSize,
  switched,
} from "./answers.js";
import { endpoint } from "./endpoint.js";

const id = z.object({ id: z.string().min(1).max(200).describe("The id of a hook.") });
const phase = z.enum(["before", "after"]).optional().describe("The phase, for a point that has both.");
const payload = z
  .union([z.enum(["example", "last"]), z.record(z.string(), z.unknown())])
  .default("example")
  .describe("The payload as an object, or `example` (that of the point), or `last` (the last real one).");

const fired = z.union([oneHookRun, dispatch]);

export const hookEndpoints = [
  endpoint({
    method: "GET",
    path: "/hooks",
    id: "listHooks",
    summary: "Lists the hooks, by family and point.",
    query: z.object({
      filter: z
        .string()
        .max(200)
        .optional()
        .describe("Only hooks with this part of an id or point, or `on`, `off`, `failing`, `never` (never fired)."),
      page: pageNumber,
      limit: pageSize(500, 100),
    }),
    answer: z.object({
      hooks: z.array(hookRow),
      families: z
        .array(z.object({ family: z.string(), hooks: z.array(z.string()) }))
        .describe("The ids of all that match, on every page, by family."),
      ...page,
      broken: z.array(brokenHook).default([]).describe("Configured hooks that are not in force."),
      paused: z.boolean().default(false).describe("Whether all configured hooks are paused."),
    }),
    command: ({ query: { filter, ...paging } }) => ({
      name: "hooks",
      options: { action: "list", id: filter, ...paging },
    }),
  }),
  endpoint({
    method: "GET",
    path: "/hooks/:id",
    id: "showHook",
    summary: "Shows one hook with its settings, its match and its figures.",
    params: id,
    answer: hookDetail,
    command: ({ params }) => ({ name: "hooks", options: { action: "show", id: params.id } }),
  }),
  endpoint({
    method: "POST",
    path: "/hooks/:id/enable",
    id: "enableHook",
    summary: "Switches a hook on, also across restarts.",
    params: id,
    answer: switched,
    command: ({ params }) => ({ name: "hooks", options: { action: "enable", id: params.id } }),
  }),
  endpoint({
    method: "POST",
    path: "/hooks/:id/disable",
    id: "disableHook",
    summary: "Switches a hook off, also across restarts.",
    params: id,
    answer: switched,
    command: ({ params }) => ({ name: "hooks", options: { action: "disable", id: params.id } }),
  }),
  endpoint({
    method: "POST",
    path: "/hooks/:id/fire",
    id: "fireHook",
    isLong: true,
    summary: "Fires one hook and answers when it has ended: a dispatch, or the run of a configured hook.",
    params: id,
    body: z
      .strictObject({
        payload,
        live: z
          .boolean()
          .default(false)
          .describe("Let hooks send and write; what they decide is only shown. Else it is a dry run."),
        phase,
      })
      .prefault({}),
    answer: fired,
    command: ({ params, body }) => ({
      name: "fire-hook",
      options: {
        id: params.id,
        payload: payloadText(body.payload),
        live: body.live,
        phase: body.phase,
      },
    }),
  }),
  endpoint({
    method: "POST",
    path: "/hooks/:id/test",
    id: "testHook",
    isLong: true,
    summary: "Runs a configured hook dry, and shows the output of every step.",
    params: id,
    body: z.strictObject({ payload }).prefault({}),
    answer: oneHookRun,
    command: ({ params, body }) => ({
      name: "hooks",
      options: { action: "test", id: params.id, payload: payloadText(body.payload) },
    }),
  }),
];

function payloadText(given: string | Record<string, unknown>): string {
  return typeof given === "string" ? given : JSON.stringify(given);
}
