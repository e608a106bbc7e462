/** Settings of the store. */
import { z } from "zod";
import { duration } from "../lib/validation/config-fields.js";

const atMost = (rows: number) => z.number().int().min(1).default(rows);

export const storeConfig = z.strictObject({
  durability: z
    .enum(["full", "normal"])
    .default("full")
    .describe(
      "`full`: what was acknowledged survives a power cut. `normal`: it survives a crash of the process only, and is faster.",
    ),
  dedup_for: duration("48h").describe(
    "How long an event's id is remembered at least, so that an event delivered again is not handled twice.",
  ),
  retention: z
    .strictObject({
      inbox_for: duration("30d").describe("How long handled messages are kept."),
      inbox_rows: atMost(200_000).describe("How many handled messages are kept at most."),
      outbox_for: duration("30d").describe("How long settled deliveries and links between mirrored messages are kept."),
      outbox_rows: atMost(200_000).describe("How many settled deliveries are kept at most."),
      journal_for: duration("14d").describe("How long dispatches and runs are kept."),
      journal_rows: atMost(500_000).describe("How many dispatches are kept at most."),
      audit_for: duration("365d").describe("How long operators' actions are kept."),
      audit_rows: atMost(200_000).describe("How many operators' actions are kept at most."),
      web_chat_for: duration("365d").describe("How long messages of the web chat are kept."),
      web_chat_rows: atMost(200_000).describe("How many messages of the web chat are kept at most."),
    })
    .prefault({})
    .describe(
      "Rows beyond these ages or counts are deleted. Unfinished work is never deleted, and neither are messages that wait for an operator: those whose handling was given up, and deliveries that are held or were given up. The file does not shrink: new rows use the free space (docs/backup.md explains how to shrink it).",
    ),
});
export type StoreConfig = z.infer<typeof storeConfig>;
export type Retention = StoreConfig["retention"] & Pick<StoreConfig, "dedup_for">;
