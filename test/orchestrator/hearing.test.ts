/** Who may read what quotes a message: decided by what the message is, and by what led to it. */
import { expect, it } from "vitest";
import type { Cause } from "../../src/domain/journal.js";
import { createRoleToHear } from "../../src/orchestrator/hearing.js";
import { openTestStore, reply } from "../store/support/open-test-store.js";
import { ManualClock } from "../support/manual-clock.js";

it("follows what hooks posted to the message that started them", async () => {
  const store = await openTestStore({ clock: new ManualClock() });
  const roleToHear = createRoleToHear({ tasks: store.tasks, outbox: store.outbox, roleOfTask: () => "admin" });
  const post = (id: string, kind: Cause["kind"], causeId: string) =>
    store.outbox.enqueue([reply({ id, cause: { kind, id: causeId, depth: 0 } })], 0);
  await post("d_m1a", "command", "m1");
  await post("d_once_answered", "hook", "d_m1a:message_sent/1");
  await post("d_m2r", "reply", "m2");
  await post("d_once_replied", "hook", "d_m2r:message_sent/1");
  const about = (id: string, kind?: Cause["kind"], causeId = "") =>
    roleToHear({ id, cause: kind && { kind, id: causeId } });

  expect(await about("d_m1a")).toBe("owner");
  expect(await about("d_once_answered")).toBe("owner");
  expect(await about("d_x:message_sent", "hook", "d_once_answered:message_sent/2")).toBe("owner");
  expect(await about("d_once_replied")).toBe("operator");
  // It is gone, and with it what led to it.
  expect(await about("d_gone")).toBe("owner");
  // Dispatches of events are called so, too.
  expect(await about("d_event_1:event:push", "api", "1")).toBe("operator");
  expect(await about("t_1:2:task:create", "command", "m3")).toBe("owner");
  const payload = { deliveryId: "d_m1a", cause: { kind: "command", id: "m1", depth: 0 }, message: { text: "" } };
  expect(await roleToHear({ id: "f_1", cause: { kind: "command", id: "f_1" }, payload })).toBe("owner");
  expect(await roleToHear({ id: "f_1", cause: { kind: "command", id: "f_1" }, payload: { text: "typed" } })).toBe(
    "operator",
  );
});
