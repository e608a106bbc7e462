/** Changed routes, policies, rotas and quiet hours hold for alerts that are open already: their cards follow, by a reload or a restart. */
import { describe, expect, it } from "vitest";
import type { OutboundMessage } from "../../src/domain/chat/message.js";
import { ANN, HOUR, MINUTE, OPS, ROOM, START, type Watch, watch } from "./watch.js";

const notPosted = ({ card }: OutboundMessage) => card?.fields?.find(({ name }) => name === "Not posted yet")?.value;
const to = (...places: string[]) => ({ routes: { default: { to: places, remind: { times: 0 } } } });

it("a card follows its alert to another chat, and the old one says where it went, with nothing to press", async () => {
  const on = await watch(to(ROOM));
  const { id } = await on.raise();
  await on.reload(to(OPS));
  expect(on.posted(OPS)).toHaveLength(1);
  expect(on.posted(OPS)[0]?.text).toMatch(/Reply to Bob[\s\S]*Firing since/);
  await on.advance(3_000);
  expect(on.posted()).toHaveLength(1);
  expect(on.posted()[0]?.text).toMatch(/Reply to Bob[\s\S]*Moved to loop:bot:ops/);
  expect(on.posted()[0]?.body.buttons ?? []).toEqual([]);
  expect((await on.alerts.history(id)).at(-1)).toMatchObject({ event: "move", actor: { id: "rule" } });
  await on.alerts.act(id, { kind: "ack" }, ANN);
  await on.advance(3_000);
  expect(on.posted(OPS)[0]?.text).toContain("Acknowledged by Ann");
  const edits = on.posted()[0]?.edits;
  await on.alerts.act(id, { kind: "assign" }, ANN);
  await on.advance(2 * HOUR);
  expect(on.posted()[0]?.edits).toBe(edits);
  expect(on.posted()[0]?.text).toContain("Moved to loop:bot:ops");
});

it.each([
  ["of its own", {}],
  ["of many", { alone: 0 }],
])("pages that were posted beside a card %s show what happens to their alert after it moved", async (_, settings) => {
  const escalate = [{ after: "10m", mention: ["loop:7"] }];
  const at = (place: string) => ({
    routes: { default: { to: [place], remind: { times: 0 }, escalate, ...settings } },
    keep: "1h",
  });
  const on = await watch(at(ROOM));
  const { id } = await on.raise();
  const { id: other } = await on.raise({ fingerprint: "b", title: "Reply to Cid" });
  await on.advance(11 * MINUTE);
  const isPage = on.posted().map(({ body }) => body.mentions !== undefined);
  expect(isPage).toContain(true);
  const pages = () => on.posted().filter((_, index) => isPage[index]);
  const shows = (words: RegExp) => pages().some(({ text }) => words.test(text));
  await on.reload(at(OPS));
  await on.advance(MINUTE);
  await on.alerts.act(other, { kind: "resolve", reason: "done" }, ANN);
  await on.advance(MINUTE);
  expect(shows(/Reply to Cid\*\*\n.*Resolved/)).toBe(true);
  await on.crash(2 * HOUR);
  // The rows of the ended alert are removed.
  await on.alerts.sweep(on.clock.now());
  await on.alerts.act(id, { kind: "ack" }, ANN);
  await on.advance(MINUTE);
  expect(shows(/Reply to Bob\*\*\n.*Acknowledged by Ann/)).toBe(true);
  await on.raise({ state: "resolved", reason: "the work ended" });
  await on.advance(MINUTE);
  expect(shows(/Reply to Bob\*\*\n.*Resolved/)).toBe(true);
  expect(pages().flatMap(({ body }) => body.buttons ?? [])).toEqual([]);
});

it("so it does when somebody has it, after a restart with other settings, and back again", async () => {
  const on = await watch(to(ROOM));
  const { id } = await on.raise();
  await on.alerts.act(id, { kind: "ack" }, ANN);
  await on.settle();
  await on.crash(HOUR, to(OPS, ROOM));
  await on.advance(3_000);
  expect(on.posted(OPS)[0]?.text).toContain("Acknowledged by Ann");
  expect(on.posted()[0]?.text).toContain("Acknowledged by Ann");
  await on.crash(HOUR, to(OPS));
  await on.advance(3_000);
  expect(on.posted()[0]?.text).toContain("Moved to");
  await on.crash(HOUR, to(ROOM));
  await on.advance(3_000);
  expect(on.posted(OPS).map(({ text }) => /Moved to loop:bot:\w+/.exec(text)?.[0])).toEqual(["Moved to loop:bot:room"]);
  expect(on.posted().filter(({ text }) => text.includes("Acknowledged by Ann"))).toHaveLength(1);
  // The same settings once more move nothing.
  const before = on.platform.messages.length;
  await on.crash();
  await on.advance(MINUTE);
  expect(on.platform.messages).toHaveLength(before);
});

it("an alert that comes back into a card of many leaves its first card with the truth, and an emptied card of many says so", async () => {
  const on = await watch(to(ROOM));
  await on.raise();
  await on.raise({ fingerprint: "b", title: "Reply to Cid" });
  await on.advance(3_000);
  await on.reload(to(OPS));
  await on.advance(3_000);
  await on.reload({ routes: { default: { to: [ROOM], alone: 0, remind: { times: 0 } } } });
  await on.advance(3_000);
  const [first, , ...others] = on.posted();
  expect(first?.text).toMatch(/Reply to Bob[\s\S]*A newer message in this chat shows this alert/);
  expect(others.some(({ text }) => text.includes("2 alerts"))).toBe(true);
  await on.reload(to(OPS));
  await on.advance(3_000);
  const emptied = on.posted().find(({ text }) => text.includes("No alert is shown here any more"));
  expect(emptied?.text).toContain("Moved to");
  expect(on.posted().some(({ text }) => text.includes("all ended"))).toBe(false);
});

it("alerts of a common card move together", async () => {
  const on = await watch({ routes: { default: { to: [ROOM], alone: 0, remind: { times: 0 } } } });
  for (let n = 0; n < 5; n++) await on.raise({ fingerprint: `f${n}`, title: `Reply to ${n}` });
  await on.advance(6_000);
  // Each that joined it was a message besides.
  const cards = (at: string) => on.posted(at).filter(({ text }) => !text.includes("It fires now"));
  expect(cards(ROOM)).toHaveLength(1);
  await on.reload({ routes: { default: { to: [OPS], alone: 0, remind: { times: 0 } } } });
  await on.advance(6_000);
  expect(cards(OPS).map(({ text }) => /\d alerts/.exec(text)?.[0])).toEqual(["5 alerts"]);
  expect(on.posted()[0]?.text).toContain("Moved to loop:bot:ops");
});

it("an alert that grows severe is told at more places, and leaves none", async () => {
  const on = await watch({
    routes: { default: { to: [ROOM] }, pager: { match: ["severity=critical"], to: [OPS] } },
  });
  await on.raise({ state: "warned", severity: "warning" });
  await on.raise({ severity: "critical" });
  await on.advance(6 * MINUTE);
  for (const place of [ROOM, OPS]) expect(on.posted(place)[0]?.text).toMatch(/Firing since/);
  const [alert] = await on.alerts.list({ open: true, limit: 1 });
  expect(alert?.severity).toBe("critical");
});

it("a route that comes new calls nobody for what should have been done before; a changed reminder comes in its new time", async () => {
  const on = await watch({ routes: { default: { to: [ROOM], remind: { every: "5h", times: 2 } } } });
  await on.raise();
  await on.advance(HOUR);
  const next = {
    default: { to: [ROOM], remind: { every: "30m", times: 2 } },
    pager: {
      match: ["severity=high"],
      to: [ROOM],
      remind: { times: 0 },
      escalate: [{ after: "10m", mention: ["loop:7"] }],
    },
  };
  await on.reload({ routes: { default: next.default } });
  expect(on.posted().filter(({ text }) => /reminder 1 of 2/.test(text))).toHaveLength(1);
  await on.reload({ routes: next });
  expect(on.posted().some(({ text }) => text.includes("Escalated"))).toBe(false);
  await on.advance(11 * MINUTE);
  expect(on.posted().filter(({ text }) => text.includes("Escalated") && !/(No owner|Owner:)/.test(text))).toHaveLength(
    1,
  );
});

it("quiet hours that are taken away let what waits be told at once, escalations too", async () => {
  const routes = { default: { to: [ROOM], remind: { times: 0 }, escalate: [{ mention: ["loop:7"] }] } };
  const on = await watch({
    routes,
    destinations: { [ROOM]: { quiet: { from: "09:00", to: "18:00", timezone: "UTC" } } },
  });
  await on.raise();
  await on.advance(HOUR);
  expect(on.posted()).toEqual([]);
  await on.reload({ routes });
  expect(on.posted().filter(({ text }) => /(No owner|Owner:)/.test(text))).toHaveLength(1);
  expect(on.posted().filter(({ body }) => body.mentions !== undefined)).toHaveLength(1);
});

describe("quiet hours that are changed while something waits for their end", () => {
  const until = (to: string) => ({
    routes: {
      default: { to: [ROOM], remind: { times: 0 }, escalate: [{ after: "5m", mention: ["loop:7"] }] },
    },
    destinations: { [ROOM]: { quiet: { from: "09:00", to, timezone: "UTC" } } },
  });
  /** One has an operator, one ended, one waits with its page. */
  const waiting = async () => {
    const on = await watch(until("12:00"));
    const { id: had } = await on.raise({ fingerprint: "a", title: "Reply to Ann" });
    await on.raise({ fingerprint: "c", title: "Reply to Cid" });
    await on.alerts.act(had, { kind: "ack" }, ANN);
    await on.raise({ fingerprint: "c", title: "Reply to Cid", state: "resolved", reason: "answered" });
    const { id } = await on.raise();
    await on.advance(10 * MINUTE);
    expect(on.posted()).toEqual([]);
    return { on, id };
  };
  const expectAll = (on: Watch) => {
    expect(on.posted().filter(({ text }) => text.includes("While it was quiet: 3 alerts, 2 open"))).toHaveLength(1);
    const pages = on.posted().filter(({ text }) => text.includes("Escalated: step 1 of 1"));
    expect(pages.map(({ body }) => body.mentions !== undefined)).toEqual([true]);
    expect(pages[0]?.text).toContain("It waited because of quiet hours");
    expect(on.posted()).toHaveLength(2);
  };

  it("it waits for the new end when they are prolonged", async () => {
    const { on, id } = await waiting();
    await on.reload(until("14:00"));
    expect(notPosted(await on.alerts.details(id, OPS))).toBe(
      `The page of step 1 in loop:bot:room waits until <t:${(START + 4 * HOUR) / 1_000}:f>: quiet hours.`,
    );
    await on.advance(3 * HOUR);
    expect(on.posted()).toEqual([]);
    await on.advance(HOUR);
    expectAll(on);
  });

  it("it waits for the new end when they were prolonged while the gateway was down over their old end", async () => {
    const { on } = await waiting();
    await on.crash(3 * HOUR, until("14:00"));
    await on.advance(MINUTE);
    expect(on.posted()).toEqual([]);
    await on.advance(HOUR);
    expectAll(on);
  });

  it("it is posted at once when the alert becomes too severe for them, and does not say that they have ended", async () => {
    const { on } = await waiting();
    await on.raise({ severity: "critical" });
    await on.advance(10_000);
    const pages = on.posted().filter(({ text }) => text.includes("Escalated: step 1 of 1"));
    expect(pages.map(({ text }) => /It waited.*?\./.exec(text)?.[0])).toEqual(["It waited because of quiet hours."]);
  });

  it("it waits for the new end when they are shortened", async () => {
    const { on } = await waiting();
    await on.reload(until("11:00"));
    await on.advance(HOUR);
    expectAll(on);
  });
});

it("a page that waits for a chat that leaves the route follows its alert, unless its people are called there already", async () => {
  const through = (...places: string[]) => ({
    routes: { default: { to: places, remind: { times: 0 }, escalate: [{ after: "5m", mention: ["loop:7"] }] } },
    destinations: { [ROOM]: { quiet: { from: "09:00", to: "12:00", timezone: "UTC" } } },
  });
  const pages = (on: Watch, chat: string) =>
    on.posted(chat).filter(({ text }) => /<@7>[\s\S]*Escalated: step 1 of 1/.test(text));
  for (const before of [[ROOM], [ROOM, OPS]]) {
    const on = await watch(through(...before));
    const { id } = await on.raise();
    await on.advance(10 * MINUTE);
    expect(on.posted()).toEqual([]);
    await on.reload(through(OPS));
    await on.advance(MINUTE);
    expect(pages(on, OPS)).toHaveLength(1);
    expect(pages(on, OPS)[0]?.text).not.toContain("It waited");
    await on.advance(2 * HOUR);
    expect(on.posted()).toEqual([]);
    expect(pages(on, OPS)).toHaveLength(1);
    const dropped = (await on.alerts.history(id)).filter(({ event }) => event === "unposted");
    expect(dropped.map(({ reason }) => reason)).toEqual(
      before.includes(OPS)
        ? [
            expect.stringContaining(
              `${ROOM} did not get "Escalated: step 1 of 1 (loop:7)": the chat is no longer on the route`,
            ),
          ]
        : [],
    );
  }
});

const EXEC = "loop:bot:exec";
const quiet = (to: string) => ({ quiet: { from: "09:00", to, timezone: "UTC" } });

describe("a page that waits for quiet hours follows its alert on each change of the route", () => {
  const through = (...places: string[]) => ({
    routes: { default: { to: places, remind: { times: 0 }, escalate: [{ after: "5m", mention: ["loop:7"] }] } },
    destinations: { [ROOM]: quiet("12:00"), [OPS]: quiet("13:00") },
  });
  const CHATS = [ROOM, OPS, EXEC];
  const pagesOf = (on: Watch) =>
    CHATS.map((chat) => on.posted(chat).filter(({ text }) => /<@7>[\s\S]*Escalated: step 1 of 1/.test(text)).length);

  it.each<[name: string, routes: string[][], before: number[], at12: number[], at13: number[]]>([
    ["there and back", [[ROOM], [OPS], [ROOM]], [0, 0, 0], [1, 0, 0], [1, 0, 0]],
    ["there, back and there", [[ROOM], [OPS], [ROOM], [OPS]], [0, 0, 0], [0, 0, 0], [0, 1, 0]],
    ["back, and then to a chat that is awake", [[ROOM], [OPS], [ROOM], [EXEC]], [0, 0, 1], [0, 0, 1], [0, 0, 1]],
    ["to one of two, and to the other", [[ROOM, OPS], [OPS], [ROOM]], [0, 0, 0], [1, 0, 0], [1, 0, 0]],
    ["from two to another", [[ROOM, OPS], [EXEC], [ROOM, OPS]], [0, 0, 1], [0, 0, 1], [0, 0, 1]],
    ["to one of two, and to both again", [[ROOM, OPS], [OPS], [ROOM, OPS]], [0, 0, 0], [1, 0, 0], [1, 1, 0]],
  ])("%s", async (_, [first = [], ...others], before, at12, at13) => {
    for (const isCrashed of others.length === 3 ? [false, true] : [false]) {
      const on = await watch(through(...first));
      const { id } = await on.raise();
      await on.advance(10 * MINUTE);
      for (const to of others) {
        await (isCrashed ? on.crash(MINUTE, through(...to)) : on.reload(through(...to)));
        await on.advance(MINUTE);
      }
      expect(pagesOf(on)).toEqual(before);
      const last = (await on.alerts.history(id)).findLast(({ reason }) =>
        reason?.includes("until its quiet hours end"),
      );
      if (before[2] === 0) {
        const chat = others.at(-1)?.[0] ?? "";
        expect(last?.reason).toContain(`waits in ${chat} until`);
        expect(notPosted(await on.alerts.details(id, ROOM))).toContain(`The page of step 1 in ${chat} waits until`);
      }
      await on.advance(2 * HOUR);
      expect(pagesOf(on)).toEqual(at12);
      await on.advance(HOUR);
      expect(pagesOf(on)).toEqual(at13);
    }
  });
});

it.each([
  ["the reminder fell due before the step", "5m"],
  ["the step came first", "20m"],
])("reminders follow a step from a quiet chat into one that is awake, where %s", async (_, every) => {
  const escalate = [{ after: "12m", to: [OPS], mention: ["loop:7"] }];
  const on = await watch({
    routes: { default: { to: [ROOM], remind: { every, times: 2 }, escalate } },
    destinations: { [ROOM]: quiet("23:00") },
  });
  await on.raise();
  await on.advance(13 * MINUTE);
  expect(on.posted(OPS)[1]?.text).toContain("Escalated: step 1 of 1");
  const next = Date.UTC(2026, 0, 1, 10, every === "5m" ? 17 : 20) / 1_000;
  expect(on.posted(OPS)[0]?.text).toContain(`Next: reminder at <t:${next}`);
  await on.advance(30 * MINUTE);
  const reminders = on.posted(OPS).flatMap(({ text }) => /reminder \d of \d/.exec(text)?.[0] ?? []);
  expect(reminders).toEqual(["reminder 1 of 2", "reminder 2 of 2"]);
});

describe("cards and pages name each step that waits for quiet hours", () => {
  const step = (after: string, to: string[], who: number) => ({ after, to, mention: [`loop:${who}`] });
  const settings = (ends: { ops: string; exec: string }, ...escalate: object[]) => ({
    routes: { default: { to: [ROOM], remind: { times: 0 }, escalate } },
    destinations: { [OPS]: quiet(ends.ops), [EXEC]: quiet(ends.exec) },
  });
  const card = (on: Watch) => on.posted()[0]?.text ?? "";
  const at = (hour: number) => `<t:${Date.UTC(2026, 0, 1, hour) / 1_000}:f>`;

  it("until it is posted, whatever other steps do meanwhile", async () => {
    const ends = { ops: "13:00", exec: "12:00" };
    const on = await watch(settings(ends, step("5m", [OPS], 7), step("10m", [EXEC], 8), step("15m", [ROOM], 9)));
    await on.raise();
    await on.advance(12 * MINUTE);
    const both = `⚠ Escalation step 2 waits until ${at(12)}, step 1 waits until ${at(13)}: quiet hours.`;
    expect(card(on)).toContain(both);
    await on.advance(10 * MINUTE);
    // The last step is posted here.
    const [, page] = on.posted();
    expect(page?.text).toMatch(
      /<@9>[\s\S]*This was the last step\. Step 2 waits in loop:bot:exec until its quiet hours end\. Step 1 waits in loop:bot:ops until/,
    );
    expect(card(on)).toContain("no further escalation");
    expect(card(on)).toContain(both);
    await on.advance(2 * HOUR);
    expect(on.posted(EXEC).at(-1)?.text).toMatch(
      /<@8>[\s\S]*Escalated: step 2 of 3.*Step 1 waits in loop:bot:ops until its quiet hours end/,
    );
    expect(card(on)).toContain(`⚠ Escalation step 1 waits until ${at(13)}: quiet hours.`);
    await on.advance(HOUR);
    expect(on.posted(OPS).at(-1)?.text).toMatch(/<@7>[\s\S]*Escalated: step 1 of 3/);
    expect(on.posted(OPS).at(-1)?.text).not.toContain(" waits in ");
    expect(card(on)).not.toContain("quiet hours");
  });

  it("by the earliest of its chats, also when their quiet hours change, and not after one of them has it", async () => {
    const both = step("5m", [OPS, EXEC], 7);
    const on = await watch(settings({ ops: "12:00", exec: "13:00" }, both));
    await on.raise();
    await on.advance(6 * MINUTE);
    expect(card(on)).toContain(`⚠ Escalation step 1 waits until ${at(12)}: quiet hours.`);
    await on.reload(settings({ ops: "15:00", exec: "13:00" }, both));
    await on.advance(3_000);
    expect(card(on)).toContain(`⚠ Escalation step 1 waits until ${at(13)}: quiet hours.`);
    await on.reload(settings({ ops: "15:00", exec: "12:00" }, both));
    await on.advance(2 * HOUR);
    expect(on.posted(EXEC).at(-1)?.text).toMatch(/<@7>[\s\S]*Step 1 waits in loop:bot:ops until its quiet hours end/);
    expect(card(on)).not.toContain("quiet hours");
  });

  it("before it is due too, by the quiet hours of its own chat as they are now; and when the next reminder comes", async () => {
    const quietTo = (end: string, ...more: string[]) => ({
      routes: { default: { to: [ROOM], remind: { every: "20m", times: 2 }, escalate: [step("30m", [OPS], 7)] } },
      destinations: Object.fromEntries([OPS, ...more].map((chat) => [chat, quiet(end)])),
    });
    const minute = (minutes: number) => `<t:${(START + minutes * MINUTE) / 1_000}:f>`;
    const on = await watch(quietTo("13:00"));
    const { id } = await on.raise();
    const reminder = `Next: reminder at ${minute(20)}, `;
    expect(card(on)).toContain(`${reminder}escalation step 1 of 1 at ${at(13)}, when quiet hours end.`);
    await on.reload(quietTo("12:00"));
    await on.advance(3_000);
    expect(card(on)).toContain(`${reminder}escalation step 1 of 1 at ${at(12)}, when quiet hours end.`);
    await on.reload(quietTo("10:30"));
    await on.advance(3_000);
    expect(card(on)).toContain(`${reminder}escalation step 1 of 1 at ${minute(30)}.`);
    await on.reload(quietTo("12:00", ROOM));
    await on.advance(3_000);
    const next = `escalation step 1 of 1 at ${at(12)}, when quiet hours end, reminder at ${minute(140)}.`;
    expect(card(on)).toContain(`Next: ${next}`);
    const fields = (await on.alerts.details(id, ROOM)).card?.fields;
    expect(fields?.find(({ name }) => name === "Next")?.value).toBe(next);
    const posted = on.posted().length;
    await on.advance(2 * HOUR + 5 * MINUTE);
    expect(on.posted(OPS).at(-1)?.text).toMatch(/<@7>[\s\S]*Escalated: step 1 of 1/);
    expect(on.posted()).toHaveLength(posted);
    await on.advance(20 * MINUTE);
    expect(on.posted().at(-1)?.text).toContain("reminder 1 of 2");
  });

  it("and a page that is posted together with another says of none that it waits", async () => {
    const both = step("5m", [OPS, EXEC], 7);
    const on = await watch(settings({ ops: "12:00", exec: "13:00" }, both));
    await on.raise();
    await on.advance(6 * MINUTE);
    await on.reload({ ...settings({ ops: "12:00", exec: "13:00" }, both), destinations: {} });
    for (const chat of [OPS, EXEC]) {
      expect(on.posted(chat).at(-1)?.text).toContain("Escalated: step 1 of 1");
      expect(on.posted(chat).at(-1)?.text).not.toContain(" waits in ");
    }
  });

  it("and none of an alert that an operator has, until it needs one again", async () => {
    const on = await watch(settings({ ops: "13:00", exec: "12:00" }, step("5m", [OPS], 7)));
    const { id } = await on.raise();
    await on.advance(6 * MINUTE);
    await on.alerts.act(id, { kind: "snooze", until: START + 36 * MINUTE }, ANN);
    await on.advance(3_000);
    expect(card(on)).not.toContain("quiet hours");
    await on.advance(HOUR);
    expect(card(on)).toContain(`⚠ Escalation step 1 waits until ${at(13)}: quiet hours.`);
  });
});
