/** A page that its group refuses with a pause, and a gateway that is killed right after that: the whole product, the real clients. */
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { until } from "../support/until.js";
import { alertCards, destinations } from "./alert-cards.js";
import { allOnline, type Stack, startStack } from "./stack.js";

const DOWN_MS = 110_000;

let stack: Stack;
afterEach(() => stack?.stop());
const { platform, room } = alertCards(() => stack);

const database = (isReadonly: boolean) =>
  openSqlite(join(stack.gateway.folder, "data/hookgate.db"), { readonly: isReadonly });

/** All that the gateway left behind is older by this: as if it had been down for so long. */
function passWhileDown(ms: number): void {
  const open = database(false);
  open.exec(`UPDATE alert_notices SET due_at = due_at - ${ms}, sent_at = sent_at - ${ms};
    UPDATE deliveries SET created_at = created_at - ${ms}, due_at = due_at - ${ms}, expires_at = expires_at - ${ms};
    UPDATE pauses SET until = until - ${ms}`);
  open.close();
}

/** What the group refused is to be tried again after its pause. */
function isRefused(): boolean {
  const open = database(true);
  const row = open.prepare<[], { count: number }>("SELECT count(*) AS count FROM deliveries WHERE attempts > 0").get();
  open.close();
  return row !== undefined && row.count > 0;
}

const pages = async () =>
  (await platform("telegram").seen(room("telegram")))
    .map(({ text }) => text.replaceAll("\\", ""))
    .filter((text) => text.includes("Escalated: step 1 of 1"));

it("the page is posted once after the next start, and says when it was due", async () => {
  stack = await startStack({
    // Nothing answers the customer.
    withFlow: false,
    config: (around) => ({
      sla: {
        policies: [
          {
            id: "replies",
            for: "conversation",
            measure: "first_response",
            match: 'entity.facts.chat != "general"',
            target: "2s",
          },
        ],
        after_start: "1s",
      },
      alerts: {
        routes: {
          default: {
            to: [destinations(around).telegram],
            remind: { times: 0 },
            escalate: [{ after: "3s", mention: ["Olga"] }],
          },
        },
        fallback_after: "5m",
        people: { Olga: [`telegram:${around.telegram.userId}`] },
      },
    }),
  });
  const { telegram, gateway } = stack;
  await platform("web").say(platform("web").places[1], "guest", "Where is my order?");
  const card = async () => (await platform("telegram").seen(room("telegram"))).find(({ text }) => text.includes("al_"));
  await until(card, "the card");
  telegram.fail({
    method: "sendMessage",
    chatId: telegram.forumId,
    action: { kind: "rate-limit", retryAfterS: 40 },
  });
  await until(isRefused, "the refusal of the page on disk");
  await gateway.kill();
  passWhileDown(DOWN_MS);
  await gateway.start();
  await allOnline(gateway);
  const [late] = await until(async () => {
    const found = await pages();
    return found.length > 0 ? found : undefined;
  }, "the page");
  expect(late).toMatch(/It was due .+ and was not posted then/);
  expect(late).toContain("Olga");
  expect(await pages()).toHaveLength(1);
});
