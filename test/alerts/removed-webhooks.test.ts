/** A webhook that is changed or removed in the settings while pages wait for it: nothing is sent there, and what waited goes to the new address or is recorded as lost. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { alertsConfig } from "../../src/alerts/config.js";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { HOUR, MINUTE, OPS, ROOM, type Watch, watch } from "./watch.js";

interface Pager {
  url: string;
  host: string;
  taken: { kind: string; text: string }[];
}

/** Called before it answers. */
async function pager(status: number, called: () => Promise<void> = async () => undefined): Promise<Pager> {
  const taken: Pager["taken"] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    taken.push(JSON.parse(body) as Pager["taken"][number]);
    await called();
    response.writeHead(status).end();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  afterTest(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${host}/page`, host, taken };
}

const settings = (...escalate: Record<string, unknown>[]) => ({
  routes: { default: { to: [ROOM], remind: { times: 0 }, escalate } },
  fallback: [OPS],
});
const reasonsOf = async (on: Watch, id: string) => (await on.alerts.history(id)).map(({ reason = "" }) => reason);
const aboutWebhook = async (on: Watch) =>
  (await on.alerts.list({ limit: 20 })).find(({ signal: { labels } }) => labels.kind === "unsaid");

it.each([
  ["after a reload", (on: Watch, next: Record<string, unknown>) => on.reload(next)],
  ["after a restart", (on: Watch, next: Record<string, unknown>) => on.crash(MINUTE, next)],
])("%s with another address, the page goes there once, and nothing more to the old one", async (_, change) => {
  const [old, next] = [await pager(500), await pager(204)];
  const on = await watch(settings({ webhook: old.url }));
  const { id } = await on.raise();
  await until(() => old.taken.length > 0, "the page at the old address");
  await on.advance(7 * MINUTE);
  expect((await aboutWebhook(on))?.state).toBe("firing");
  const before = old.taken.length;
  await change(on, settings({ webhook: next.url }));
  await until(() => next.taken.length > 0, "the page at the new address");
  await on.advance(HOUR);
  expect(next.taken).toEqual([expect.objectContaining({ kind: "escalation" })]);
  expect(next.taken[0]?.text).toContain(`Escalated: step 1 of 1 (${next.host})`);
  expect(old.taken).toHaveLength(before);
  expect((await reasonsOf(on, id)).join()).toContain(
    `"Escalated: step 1 of 1 (${old.host})" from webhook ${old.host} to webhook ${next.host}: the settings changed`,
  );
  const own = await aboutWebhook(on);
  expect(own).toMatchObject({ state: "resolved", signal: { reason: "the settings send no alerts there" } });
  await expect(on.alerts.test(own?.id ?? "")).rejects.toThrow(/nothing is sent there/);
  expect(old.taken).toHaveLength(before);
});

it("after it was removed, the page is lost: the history, the card and the fallback show that", async () => {
  const old = await pager(500);
  const on = await watch(settings({ webhook: old.url }));
  const { id } = await on.raise();
  await until(() => old.taken.length > 0, "the page");
  await on.settle();
  const before = old.taken.length;
  await on.reload(settings({ after: "2h", mention: ["loop:7"] }));
  await on.advance(HOUR);
  expect(old.taken).toHaveLength(before);
  expect((await reasonsOf(on, id)).join()).toContain(
    `${old.host} did not take "Escalated: step 1 of 1 (${old.host})": the settings have no such webhook any more`,
  );
  const copies = on.posted(OPS).filter(({ text }) => text.includes(`(it did not arrive at ${old.host})`));
  expect(copies).toHaveLength(1);
  expect(on.posted()[0]?.text).toContain("⚠ Escalation step 1, which was removed since, notified none of its people");
  expect(await aboutWebhook(on)).toBeUndefined();
});

it("a call that is under way while it is removed raises no alert about it when it fails", async () => {
  const next = await pager(204);
  const current: { on?: Watch; isChanged?: boolean } = {};
  const old = await pager(403, async () => {
    if (current.isChanged || current.on === undefined) return;
    current.isChanged = true;
    (await current.on.alerts.prepare(alertsConfig.parse(settings({ webhook: next.url }))))();
  });
  const on = await watch(settings({ after: "5s", webhook: old.url }));
  current.on = on;
  await on.raise();
  await on.advance(10_000);
  await until(() => next.taken.length > 0, "the page at the new address");
  await on.advance(MINUTE);
  expect(old.taken).toHaveLength(1);
  expect(await aboutWebhook(on)).toBeUndefined();
});

it("a webhook that is another step of its route now is called again", async () => {
  const old = await pager(500);
  const on = await watch(settings({ webhook: old.url }));
  await on.raise();
  await until(() => old.taken.length > 0, "the page");
  await on.reload(settings({ after: "2h", mention: ["loop:7"] }, { after: "3h", webhook: old.url }));
  const before = old.taken.length;
  await on.advance(2 * MINUTE);
  await until(() => old.taken.length > before, "another try");
});
