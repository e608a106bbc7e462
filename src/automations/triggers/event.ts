/** `event: deploy`: an external event, declared under `events:` and delivered by signed HTTP. */
import { z } from "zod";
import type { TriggerOf } from "../definition/definition.js";

export const eventOptions = z
  .strictObject({ event: z.string().min(1).describe("The name of an event that is declared under `events:`.") })
  .transform(({ event }): TriggerOf<"event"> => ({ kind: "event", event }));
