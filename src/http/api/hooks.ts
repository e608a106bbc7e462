/** /api/v1/hooks: what is installed, switching it, and firing it. */
import { z } from "zod";
import { dispatch, hookDetail, hookRow, page, switched } from "./answers.js";
import { endpoint } from "./endpoint.js";

const id = z.object({ id: z.string().min(1).max(200).describe("The id of a hook.") });
const phase = z.enum(["before", "after"]).optional().describe("Of a point that has both.");
const payload = z
  .union([z.enum(["example", "last"]), z.record(z.string(), z.unknown())])
  .default("example")
  .describe("The payload itself, or `example` (the point's), or `last` (the last real one).");

export const hookEndpoints = [
  endpoint({
    method: "GET",
    path: "/hooks",
    id: "listHooks",
    summary: "The hooks, by family and point.",
    query: z.object({
      filter: z.string().max(200).optional().describe("Part of an id or point; `on`, `off`, `failing`, `never`."),
      page: z.coerce.number().int().min(1).optional(),
      limit: z.coerce.number().int().min(1).max(500).default(100),
    }),
    answer: z.object({ hooks: z.array(hookRow), ...page }),
    command: ({ query: { filter, ...paging } }) => ({
      name: "hooks",
      options: { action: "list", id: filter, ...paging },
    }),
  }),
  endpoint({
    method: "GET",
    path: "/hooks/:id",
    id: "showHook",
    summary: "One hook, whole.",
    params: id,
    answer: hookDetail,
    command: ({ params }) => ({ name: "hooks", options: { action: "show", id: params.id } }),
  }),
  endpoint({
    method: "POST",
    path: "/hooks/:id/enable",
    id: "enableHook",
    summary: "Switches a hook on, durably.",
    params: id,
    answer: switched,
    command: ({ params }) => ({ name: "hooks", options: { action: "enable", id: params.id } }),
  }),
  endpoint({
    method: "POST",
    path: "/hooks/:id/disable",
    id: "disableHook",
    summary: "Switches a hook off, durably.",
    params: id,
    answer: switched,
    command: ({ params }) => ({ name: "hooks", options: { action: "disable", id: params.id } }),
  }),
  endpoint({
    method: "POST",
    path: "/hooks/:id/fire",
    id: "fireHook",
    summary: "Fires one hook and answers when it has ended.",
    params: id,
    body: z
      .strictObject({ payload, dryRun: z.boolean().default(false).describe("Send nothing, write no state."), phase })
      .prefault({}),
    answer: dispatch,
    command: ({ params, body }) => ({
      name: "fire-hook",
      options: {
        id: params.id,
        payload: typeof body.payload === "string" ? body.payload : JSON.stringify(body.payload),
        "dry-run": body.dryRun,
        phase: body.phase,
      },
    }),
  }),
];
