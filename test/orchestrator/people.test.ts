/** Tasks that people do, in the web chat: a card in their own conversation, its buttons, words in reply, and time that runs out. */
import { describe, expect, it } from "vitest";
import { ManualClock } from "../support/manual-clock.js";
import { until } from "../support/until.js";
import {
  OWNER_TOKEN,
  type Posted,
  type TaskedApp,
  type TaskedOptions,
  taskedApp,
  WORKER_TOKEN,
  waysOf,
} from "./support/tasked-app.js";

const ORIGIN = "general";
const rooms = { web: { rooms: [{ id: ORIGIN, name: "General" }] } };
const ACCESS = { chats: ["*"], dms: "everyone", mention: "always" };
let nonces = 0;
const nonce = () => `nonce-${process.pid}-${++nonces}`;

/** Gives a command in a room, as a person would type it there. */
const say = (app: TaskedApp, room: string, text: string, more: Record<string, unknown> = {}, token = OWNER_TOKEN) =>
  app.api("POST", `/rooms/${room}/messages`, { text, nonce: nonce(), ...more }, token);

const cardIn = (app: TaskedApp, room: string, token: string, part: string) =>
  until(
    async () => (await app.room(room, token)).findLast(({ card }) => JSON.stringify(card ?? {}).includes(part)),
    `a card with "${part}" in ${room}`,
  );

async function press(app: TaskedApp, card: Posted, label: string, token: string, values?: Record<string, string>) {
  const button = card.buttons?.flat().find((one) => one.label === label);
  if (button?.token === undefined) throw new Error(`there is no button "${label}" in ${JSON.stringify(card.buttons)}`);
  const body = { token: button.token, nonce: nonce() };
  const answer = (await app.api("POST", `/messages/${card.id}/press`, body, token)) as {
    form?: unknown;
    token?: string;
  };
  if (answer.form === undefined || values === undefined) return answer;
  return app.api("POST", `/messages/${card.id}/press`, { token: answer.token, nonce: nonce(), values }, token);
}

const OTTO_TOKEN = "the-token-of-otto-000000003";

/** With Otto, who is an operator, and a program. */
const withOtto = ({ orchestrator = { runners: { deploy: { shell: { sh: "true" } } } } }: TaskedOptions = {}) =>
  taskedApp({
    env: { OTTO_TOKEN },
    orchestrator,
    config: {
      operators: { operator: ["web:3"] },
      web: {
        ...rooms.web,
        people: [
          { id: "2", name: "Will", token_env: "WORKER_TOKEN" },
          { id: "3", name: "Otto", token_env: "OTTO_TOKEN" },
        ],
        access: ACCESS,
      },
    },
  });

const cardWith = (app: TaskedApp, label: string) =>
  until(
    async () =>
      (await app.room(ORIGIN)).findLast(
        (one) => one.card && one.buttons?.flat().some((button) => button.label === label),
      ),
    `a card with the button ${label}`,
  );

const answered = (app: TaskedApp, room: string, text: RegExp, token = OWNER_TOKEN) =>
  until(async () => (await app.room(room, token)).find((one) => text.test(one.text)), `an answer ${text}`);

async function given(app: TaskedApp, title: string, more = ""): Promise<string> {
  return app.add(`/task add person:web:2 ${title} ${more}`.trim());
}

describe("a task for a person", () => {
  it("comes as a card in the person's own conversation, and is started and done by its buttons, without any role", async () => {
    const app = await taskedApp({});
    const id = await given(app, "Call the customer");
    const card = await cardIn(app, "dm-2", WORKER_TOKEN, "Call the customer");
    expect(card.buttons?.flat().map(({ label }) => label)).toEqual(["Start", "Done", "Decline", "Ask"]);
    await press(app, card, "Start", WORKER_TOKEN);
    await app.becomes(id, "in_progress");
    const started = await until(async () => {
      const now = (await app.room("dm-2", WORKER_TOKEN)).find((one) => one.id === card.id);
      return now?.card?.title?.startsWith("▶️") ? now : undefined;
    }, "the same card, started");
    await press(app, started, "Done", WORKER_TOKEN);
    const task = await app.becomes(id, "done");
    expect(waysOf(task)).toEqual(["pending>assigned", "assigned>in_progress", "in_progress>done"]);
    expect(task.history.at(-1)?.by).toBe("web:2 (Will)");
  });

  it("is one card and one answer when a person adds it for themselves, with names and the reader's own time", async () => {
    const app = await taskedApp({});
    await say(app, "dm-1", "/task add me Water the plants due=2h");
    const shown = async () =>
      (await app.room("dm-1", OWNER_TOKEN)).filter((one) => JSON.stringify(one).includes("Water the plants"));
    const assigned = () =>
      until(
        async () => (await shown()).find(({ buttons }) => buttons?.flat().some(({ label }) => label === "Done")),
        "the card of the person",
      );
    const card = await assigned();
    expect((await shown()).filter((one) => one.card !== undefined)).toHaveLength(1);
    // What was typed, the card, the answer.
    expect(await shown()).toHaveLength(3);
    expect(JSON.stringify(card.card)).not.toContain("web:1");
    expect(JSON.stringify(card.card)).toContain("<time");
    expect((await shown()).map(({ text }) => text).join()).toContain("for you");
  });

  it("whose card does not reach the person says so where it came from, until it does", async () => {
    const app = await taskedApp({
      orchestrator: { tick: "100ms", runners: { will: { person: { user: "web:2", at: "web:web:the-cellar" } } } },
      config: { web: { ...rooms.web, people: [{ id: "2", name: "Will", token_env: "WORKER_TOKEN" }], access: ACCESS } },
    });
    await say(app, ORIGIN, "/task add will Call the customer");
    const card = await cardIn(app, ORIGIN, OWNER_TOKEN, "Not delivered");
    const [id = ""] = /\bt_\w+/.exec(JSON.stringify(card)) ?? [];
    const said = (await app.room(ORIGIN)).find(({ text }) => text.includes("did not reach Will"));
    for (const words of [JSON.stringify(card.card), said?.text, (await app.command(`/task show ${id}`)).text]) {
      expect(words).toContain("there is no room");
      expect(words).toMatch(/\/outbox retry d_/);
      expect(words).toContain(`/task assign ${id} WHO`);
    }
    expect((await app.command("/task list")).text).toContain("⚠ not delivered");
    expect((await app.task(id)).history.at(-1)).toMatchObject({ kind: "changed", by: "orchestrator" });
    await app.api("POST", "/rooms", { name: "The cellar" });
    const [, retry = ""] = /(\/outbox retry d_\w+)/.exec(said?.text ?? "") ?? [];
    await app.command(retry);
    await until(async () => !(await app.command("/task list")).text.includes("not delivered"), "no mark any more");
    expect((await app.command(`/task show ${id}`)).text).toMatch(/by orchestrator: delivered$/m);
  });

  it("who cannot be reached: whoever asks or notes something is notified with the reason, which the card keeps", async () => {
    const app = await withOtto({
      orchestrator: {
        tick: "100ms",
        runners: { will: { person: { user: "web:2", at: "web:web:the-cellar" } } },
      },
    });
    await say(app, ORIGIN, "/task add will Call the customer");
    const [id = ""] = /\bt_\w+/.exec(JSON.stringify(await cardIn(app, ORIGIN, OWNER_TOKEN, "Not delivered"))) ?? [];
    const notices = async (room: string, token: string) =>
      (await app.room(room, token)).filter(({ text }) => text.includes("Your message was not posted in"));
    for (const [times, line] of [`/task ask ${id} "are you coming?"`, `/task note ${id} "bring the keys"`].entries()) {
      await say(app, ORIGIN, line, {}, OTTO_TOKEN);
      const notified = await until(async () => {
        const all = await notices(ORIGIN, OTTO_TOKEN);
        return all.length > times ? all.at(-1)?.text : undefined;
      }, "Otto being notified");
      expect(notified).toContain("there is no room");
      expect(notified).toContain(`/task show ${id}`);
    }
    const answers = (await app.room(ORIGIN, OTTO_TOKEN)).filter(({ text }) =>
      text.startsWith("Noted, and on its way."),
    );
    expect(answers).toHaveLength(2);
    for (const { text } of answers) expect(text).toMatch(/You will be notified.*Not delivered.*there is no room/s);
    // Over HTTP there is no chat: the caller is notified directly.
    const said = await app.command(`/task ask ${id} "and now?"`);
    expect(said.text).toContain("You will be notified if it does not arrive.");
    await until(async () => (await notices("dm-1", OWNER_TOKEN)).length === 1, "the owner being notified");
    const shown = (await app.command(`/task show ${id}`)).text;
    expect(shown).toMatch(/Not delivered.*there is no room/);
    const [, retry = ""] = /(\/outbox retry d_\w+)/.exec(shown) ?? [];
    await app.api("POST", "/rooms", { name: "The cellar" });
    await app.command(retry);
    await until(async () => !(await app.command("/task list")).text.includes("not delivered"), "no mark any more");
    expect((await app.command(`/task show ${id}`)).text).toMatch(/by orchestrator: delivered$/m);
    expect((await app.command(`/task show ${id}`)).text).not.toContain("superseded");
    expect((await app.room(ORIGIN)).filter(({ text }) => text.includes("did not reach Will"))).toHaveLength(1);
  });

  it("whose undelivered card was purged sends nothing more of that card, until the task is assigned again", async () => {
    const app = await taskedApp({
      orchestrator: { tick: "100ms", runners: { will: { person: { user: "web:2", at: "web:web:the-cellar" } } } },
      config: { web: { ...rooms.web, people: [{ id: "2", name: "Will", token_env: "WORKER_TOKEN" }], access: ACCESS } },
    });
    await say(app, ORIGIN, "/task add will Call the customer");
    const [id = ""] = /\bt_\w+/.exec(JSON.stringify(await cardIn(app, ORIGIN, OWNER_TOKEN, "Not delivered"))) ?? [];
    const cardId = await until(
      async () => /\/outbox retry (d_\w+)/.exec((await app.command(`/task show ${id}`)).text)?.[1],
      "the card's id",
    );
    expect((await app.command(`/outbox purge ${cardId} yes=true`)).text).toBe("1 message deleted.");
    // The advice to retry would be refused.
    const shown = await until(async () => {
      const { text } = await app.command(`/task show ${id}`);
      return text.includes("its card was purged, and nothing more of it is sent") ? text : undefined;
    }, "the purge on the task");
    expect(shown).toContain(`/task assign ${id} WHO`);
    expect(shown.split("History")[0]).not.toContain("/outbox retry");
    await app.api("POST", "/rooms", { name: "The cellar" });
    await app.command(`/task note ${id} "call before noon"`);
    await cardIn(app, ORIGIN, OWNER_TOKEN, "call before noon");
    await app.command(`/task assign ${id} will`);
    await cardIn(app, "the-cellar", OWNER_TOKEN, "Call the customer");
    await app.command(`/task cancel ${id}`);
    await cardIn(app, "the-cellar", OWNER_TOKEN, "🚫");
    expect((await app.room("the-cellar")).filter(({ card }) => card !== undefined)).toHaveLength(1);
    expect((await app.command(`/outbox show ${cardId}`)).text).toContain(`${cardId} was purged by`);
    expect((await app.command(`/hooks why ${cardId}`)).text).toContain("**purged**");
    // Said once where it came from: the purge is the operator's own doing.
    expect((await app.room(ORIGIN)).filter(({ text }) => text.includes("did not reach Will"))).toHaveLength(1);
  });

  it("fails with the reason of the person who declines it", async () => {
    const app = await taskedApp({});
    const id = await given(app, "Lift the piano", "retries=3");
    const card = await cardIn(app, "dm-2", WORKER_TOKEN, "Lift the piano");
    await press(app, card, "Decline", WORKER_TOKEN, { text: "my back hurts" });
    expect(await app.becomes(id, "failed")).toMatchObject({ reason: "my back hurts", retries: 0 });
  });

  it("is neither let start nor accepted by whoever does it, but by an operator", async () => {
    const app = await taskedApp({});
    const id = await given(app, "Buy a car", 'approve=true expect="when: task.attempt > 5"');
    await app.becomes(id, "awaiting_approval");
    expect((await app.command(`/task approve ${id}`, WORKER_TOKEN)).outcome).toBe("refused");
    expect((await app.task(id)).status).toBe("awaiting_approval");
    await app.command(`/task approve ${id}`);
    await app.becomes(id, "assigned");
    await app.command(`/task pause ${id}`);
    for (const line of [`/task start ${id}`, `/task done ${id}`])
      expect((await app.command(line, WORKER_TOKEN)).outcome, line).toBe("refused");
    await app.command(`/task resume ${id}`);
    await app.becomes(id, "assigned");
    expect((await app.command(`/task done ${id} here it is`, WORKER_TOKEN)).outcome).toBe("done");
    // What was expected of it is not so: that they say it is done makes it no better.
    expect((await app.becomes(id, "failed")).assessment?.passed).toBe(false);
  });

  it("is approved by its own action only: a second press of Start, and Start typed twice, do not approve it", async () => {
    const app = await withOtto();
    await say(app, ORIGIN, "/task add deploy Deploy draft=true approve=true");
    const card = await cardIn(app, ORIGIN, OWNER_TOKEN, "Deploy");
    const [id = ""] = /\bt_\w+/.exec(JSON.stringify(card)) ?? [];
    await press(app, card, "Start", OWNER_TOKEN);
    await app.becomes(id, "awaiting_approval");
    await press(app, card, "Start", OTTO_TOKEN);
    await answered(
      app,
      ORIGIN,
      /^Nothing to do: Deploy was started by Owner \d+ s ago; it is awaiting approval/,
      OTTO_TOKEN,
    );
    expect((await app.command(`/task start ${id}`)).text).toMatch(/is awaiting approval .*\/task approve/s);
    expect((await app.task(id)).status).toBe("awaiting_approval");
    await expect(app.api("POST", `/v1/tasks/${id}/start`, {})).rejects.toThrow("409");
    const waiting = await cardWith(app, "Approve");
    await press(app, waiting, "Approve", OTTO_TOKEN);
    expect(await app.becomes(id, "done")).toMatchObject({ approvedBy: "web:3 (Otto)" });
  });

  it("is not started in the name of its person by a second Approve or Resume, by one operator or by two", async () => {
    const app = await withOtto();
    await say(app, ORIGIN, "/task add person:web:2 Visit approve=true");
    const asked = await cardWith(app, "Approve");
    const [id = ""] = /\bt_\w+/.exec(JSON.stringify(asked)) ?? [];
    await press(app, asked, "Approve", OWNER_TOKEN);
    await app.becomes(id, "assigned");
    await press(app, asked, "Approve", OTTO_TOKEN);
    await answered(app, ORIGIN, /^Nothing to do: Visit was approved by Owner \d+ s ago; it is assigned/, OTTO_TOKEN);
    for (const line of [`/task approve ${id}`, `/task start ${id}`])
      expect((await app.command(line, OTTO_TOKEN)).outcome, line).toBe("failed");
    expect((await app.command(`/task start ${id}`)).text).toContain('"Visit" is assigned to Will, who starts it');
    await app.command(`/task pause ${id}`);
    const paused = await cardWith(app, "Resume");
    await press(app, paused, "Resume", OWNER_TOKEN);
    await app.becomes(id, "assigned");
    await press(app, paused, "Resume", OTTO_TOKEN);
    await answered(app, ORIGIN, /^Nothing to do: Visit was resumed by Owner/, OTTO_TOKEN);
    expect((await app.command(`/task resume ${id}`)).outcome).toBe("failed");
    expect((await app.task(id)).history.filter(({ to }) => to === "in_progress")).toEqual([]);
  });

  it("takes Done of a card that was drawn before the start, and no second one", async () => {
    const app = await withOtto();
    const id = await given(app, "Call the customer", 'retries=1 expect="when: task.attempt > 5"');
    const card = await cardIn(app, "dm-2", WORKER_TOKEN, "Call the customer");
    await press(app, card, "Start", WORKER_TOKEN);
    await app.becomes(id, "in_progress");
    await press(app, card, "Start", WORKER_TOKEN);
    await answered(app, "dm-2", /^Nothing to do: Call the customer was started by Will/, WORKER_TOKEN);
    await press(app, card, "Done", WORKER_TOKEN);
    // The check fails at once, and the task is given to Will again.
    await until(async () => (await app.task(id)).retries === 1 && (await app.becomes(id, "assigned")), "the retry");
    await press(app, card, "Done", WORKER_TOKEN);
    await answered(app, "dm-2", /^Nothing to do: Call the customer was reported as done by Will/, WORKER_TOKEN);
    expect(await app.task(id)).toMatchObject({ status: "assigned", attempt: 1, retries: 1 });
  });

  it("is not for strangers: they can neither do it nor look at it", async () => {
    const app = await taskedApp({});
    const id = await app.add("/add-task Keep the secret");
    await app.becomes(id, "assigned");
    for (const line of [
      `/task done ${id}`,
      `/task show ${id}`,
      `/task cancel ${id}`,
      "/task list",
      "/task done t_none",
    ]) {
      const said = await app.command(line, WORKER_TOKEN);
      expect(said.outcome, line).toBe("refused");
      expect(said.text).not.toContain("secret");
    }
    expect((await app.task(id)).status).toBe("assigned");
  });

  it("takes a question to where it came from, and the answer back", async () => {
    const app = await taskedApp({
      config: {
        web: {
          ...rooms.web,
          people: [{ id: "2", name: "Will", token_env: "WORKER_TOKEN" }],
          access: ACCESS,
        },
      },
    });
    await say(app, ORIGIN, "/task add person:web:2 Paint the door");
    const card = await cardIn(app, "dm-2", WORKER_TOKEN, "Paint the door");
    await press(app, card, "Ask", WORKER_TOKEN, { text: "Which colour?" });
    const asked = await until(
      async () => (await app.room(ORIGIN)).find(({ text }) => text.includes("Which colour?") && text.includes("❓")),
      "the question in the room that it came from",
    );
    const id = /t_m\w+/.exec(asked.text)?.[0] as string;
    await app.command(`/task note ${id} Green, please`);
    await until(
      async () => (await app.room("dm-2", WORKER_TOKEN)).find(({ text }) => text.includes("Green, please")),
      "the answer",
    );
    const room = async () => JSON.stringify(await app.room("dm-2", WORKER_TOKEN));
    await until(async () => (await room()).includes("💬 Owner: Green, please"), "the note on the card, with a name");
  });

  it("is reported on by a reply to its card, once", async () => {
    const app = await taskedApp({});
    const id = await given(app, "Write the report");
    const card = await cardIn(app, "dm-2", WORKER_TOKEN, "Write the report");
    await say(app, "dm-2", "half of it is there", { replyToId: Number(card.id) }, WORKER_TOKEN);
    await until(
      async () => (await app.room("dm-2", WORKER_TOKEN)).find(({ text }) => text.startsWith("Noted on the task")),
      "the word that it was noted",
    );
    const notes = (await app.task(id)).history.filter(({ kind }) => kind === "note");
    expect(notes).toMatchObject([{ by: "web:2 (Will)", reason: "half of it is there" }]);
    await cardIn(app, "dm-2", WORKER_TOKEN, "half of it is there");
  });

  it("is listed under the name of the runner that the person is", async () => {
    const app = await taskedApp({
      orchestrator: { runners: { ann: { person: { user: "discord:1576298746012345678" } } } },
    });
    const id = await app.add("/task add ann Water the plants");
    for (const line of ["/task list all", "/task list ann"]) {
      const { text } = await app.command(line);
      expect(text, line).toMatch(new RegExp(`^${id} +Water the plants +.+ +ann `, "m"));
    }
    await app.api("POST", "/rooms/general/messages", { text: "/task list all", nonce: nonce() });
    const listed = await until(
      async () => (await app.room("general")).find(({ text }) => text.includes("1 task")),
      "the list in the chat",
    );
    expect(listed.text).toMatch(new RegExp(`1\\. Water the plants · [^·]+ · ann · since \\S+ · ${id}`));
  });

  it("is taken from one and given to another, with a card of their own", async () => {
    const app = await taskedApp({ orchestrator: { runners: { boss: { person: { user: "web:1" } } } } });
    const id = await given(app, "Sweep the floor");
    const card = await cardIn(app, "dm-2", WORKER_TOKEN, "Sweep the floor");
    expect((await app.command(`/task assign ${id} boss`)).outcome).toBe("done");
    const theirs = await cardIn(app, "dm-1", OWNER_TOKEN, "Sweep the floor");
    expect(theirs.buttons?.flat().map(({ label }) => label)).toContain("Start");
    expect((await press(app, card, "Done", WORKER_TOKEN).then(() => app.task(id))).status).toBe("assigned");
    const said = await app.command(`/task done ${id}`, WORKER_TOKEN);
    expect(said.outcome).toBe("refused");
  });
});

it("the card of a person who had a task shows nothing of what follows, whoever has it then", async () => {
  const otherToken = "the-token-of-the-third-0003";
  const app = await taskedApp({
    env: { OTHER_TOKEN: otherToken },
    orchestrator: { runners: { sh: { shell: { sh: "echo KSECRETOUTPUT" } } } },
    config: {
      web: {
        ...rooms.web,
        people: [
          { id: "2", name: "Will", token_env: "WORKER_TOKEN" },
          { id: "3", name: "Otto", token_env: "OTHER_TOKEN" },
        ],
        access: { chats: ["*"], dms: "everyone", mention: "always" },
      },
    },
  });
  const moved = await given(app, "Moved on");
  const given2 = await given(app, "Run instead");
  for (const title of ["Moved on", "Run instead"]) await cardIn(app, "dm-2", WORKER_TOKEN, title);
  await app.command(`/task assign ${moved} person:web:3`);
  await cardIn(app, "dm-3", otherToken, "Moved on");
  await app.command(`/task note ${moved} KSECRETNOTE`, otherToken);
  await app.command(`/task done ${moved} KSECRETRESULT`, otherToken);
  await app.command(`/task assign ${given2} sh`);
  await app.command(`/task note ${given2} KSECRETWORDS`);
  await app.becomes(given2, "done");
  await cardIn(app, "dm-3", otherToken, "KSECRETRESULT");
  await app.app.orchestrator.drained();
  for (const title of ["Moved on", "Run instead"]) {
    const card = await until(async () => {
      const found = await cardIn(app, "dm-2", WORKER_TOKEN, title);
      return JSON.stringify(found.raw).includes("was given to another") ? found : undefined;
    }, `${title}, given away`);
    expect(card.buttons ?? []).toEqual([]);
  }
  expect(JSON.stringify(await app.room("dm-2", WORKER_TOKEN))).not.toContain("KSECRET");
});

describe("time", () => {
  it("turns a card overdue when the deadline passes, without another change", async () => {
    const clock = new ManualClock(Date.UTC(2026, 5, 1, 12));
    const app = await taskedApp({ clock });
    const id = await given(app, "Answer within the hour", "due=1h");
    const card = async () => {
      await clock.advance(1_000);
      return (await app.room("dm-2", WORKER_TOKEN)).find(({ card: one }) => JSON.stringify(one ?? {}).includes(id));
    };
    const shows = (words: RegExp) =>
      until(async () => words.test(JSON.stringify((await card())?.card ?? {})), `${words} on the card`);
    await shows(/Due/);
    expect(JSON.stringify((await card())?.card)).toMatch(/Who.{1,30}Will/);
    expect(JSON.stringify((await card())?.card)).not.toContain("overdue");
    await clock.advance(3_700_000);
    await shows(/overdue since/);
  });

  it("runs out for a person who has begun, over a restart, and not before", async () => {
    const clock = new ManualClock(Date.UTC(2026, 5, 1, 12));
    const app = await taskedApp({ clock });
    // Under a clock that stands still nothing is waited for: time moves while one looks.
    const becomes = async (id: string, status: string) => {
      for (let round = 0; round < 400; round++) {
        await clock.advance(10);
        const task = await app.task(id);
        if (task.status === status) return task;
      }
      throw new Error(`${id} did not become ${status}`);
    };
    const id = await given(app, "Answer within the hour", "timeout=1h due=3h");
    await becomes(id, "assigned");
    await app.command(`/task start ${id}`, WORKER_TOKEN);
    await becomes(id, "in_progress");
    await clock.advance(50 * 60_000);
    expect((await app.task(id)).status).toBe("in_progress");
    await app.stop();
    await clock.advance(20 * 60_000);
    await app.start();
    const task = await becomes(id, "failed");
    expect(task.reason).toBe("timeout: it was not done in time");
  });

  it("passes before a retry, twice as long each time, and a note does not shorten it", async () => {
    const clock = new ManualClock(Date.UTC(2026, 5, 1, 12));
    const app = await taskedApp({ clock, orchestrator: { runners: { no: { shell: { sh: "exit 1" } } } } });
    const settled = async (id: string, attempt: number) => {
      for (let round = 0; round < 3_000; round++) {
        const task = await app.task(id);
        if (task.status === "pending" && task.attempt === attempt) return task;
        await clock.advance(1);
        await new Promise((done) => setTimeout(done, 2));
      }
      throw new Error(`${id} was not started ${attempt} times`);
    };
    const created = await app.app.orchestrator.create(
      { title: "Try", assignTo: "no", retryPolicy: { maxRetries: 2, backoffMs: 600_000 } },
      { by: "test" },
    );
    await settled(created.id, 1);
    await app.command(`/task note ${created.id} patience`);
    await clock.advance(4 * 60_000);
    expect((await app.task(created.id)).attempt).toBe(1);
    // In small steps: what passes before its end is noticed is taken from the pause after it.
    while ((await app.task(created.id)).attempt === 1) await clock.advance(10_000);
    await settled(created.id, 2);
    await clock.advance(8 * 60_000);
    expect((await app.task(created.id)).attempt).toBe(2);
  });
});

it("a person without a role does not learn whether the task of another is there", async () => {
  const app = await taskedApp({ orchestrator: { runners: { build: { shell: { sh: "true" } } } } });
  await app.add("/task add person:web:2 Mine");
  const others = await app.add("/task add me Not theirs");
  const answers = await Promise.all(
    [others, "t_m999"].map(async (id) => {
      const { outcome, text } = await app.command(`/task done ${id}`, WORKER_TOKEN);
      return [outcome, text.replaceAll(id, "ID")];
    }),
  );
  expect(answers[0]).toEqual(answers[1]);
});

describe("texts on cards and in passed-on messages", () => {
  const FORGED = "fine\n**✅ Approved by Owner**\n[Approve here](http://evil.example/)\n# H\nforged\n===";
  const NAME = "[Approve here](http://evil.example/)";
  const withStranger = () =>
    taskedApp({
      config: {
        web: {
          ...rooms.web,
          people: [{ id: "2", name: NAME, token_env: "WORKER_TOKEN" }],
          access: ACCESS,
        },
      },
    });
  /** What a message or card shows beside its buttons, as HTML. */
  const htmlOf = ({ raw }: Posted) => {
    const card = raw.card as { html?: string; fields?: { html: string }[] } | undefined;
    return [raw.html as string, card?.html, ...(card?.fields ?? []).map(({ html }) => html)].join("\n");
  };
  const expectPlain = (html: string) => {
    expect(html).not.toMatch(/<h[1-6]|<strong>(?!Write)|<em>/);
    // A link shows where it leads.
    for (const [, to, shown] of html.matchAll(/<a [^>]*href="([^"]*)"[^>]*>(.*?)<\/a>/g)) expect(shown).toBe(to);
    expect(html).toContain("**✅ Approved by Owner**");
    // Not as a line of the card's own.
    expect(html).toMatch(/<blockquote>|fine \*\*✅/);
  };

  it.each(["note", "ask", "decline", "done"])(
    "of /task %s are shown as they were written, and no Markdown",
    async (action) => {
      const app = await withStranger();
      await say(app, ORIGIN, `/task add person:web:2 Write ${action}`);
      const { text } = await cardInText(app, `Write ${action}`);
      const id = /t_m\w+/.exec(text)?.[0] as string;
      await app.becomes(id, "assigned");
      await app.command(`/task ${action} ${id} ${FORGED}`, WORKER_TOKEN);
      const expectIn = async (found: () => Promise<Posted | undefined>) =>
        expectPlain(htmlOf(await until(found, "it")));
      const isOfIt = (one: Posted) => JSON.stringify(one.raw).includes("Approved by Owner");
      await expectIn(async () => (await app.room(ORIGIN)).find((one) => one.card !== undefined && isOfIt(one)));
      if (action === "ask")
        await expectIn(async () => (await app.room(ORIGIN)).find((one) => !one.card && isOfIt(one)));
    },
  );

  it("of a reply to a card, and of a description, are shown so, too", async () => {
    const app = await withStranger();
    await say(app, ORIGIN, "/task add person:web:2 Write [it](http://evil.example/)");
    const card = await cardIn(app, "dm-2", WORKER_TOKEN, "Write [it]");
    await say(app, "dm-2", FORGED, { replyToId: Number(card.id) }, WORKER_TOKEN);
    const passed = await until(
      async () => (await app.room(ORIGIN)).find((one) => !one.card && one.text.includes("Approved by Owner")),
      "the words, passed on",
    );
    expectPlain(htmlOf(passed));
    expect(htmlOf(passed)).toContain("Write [it](");
    await answered(app, "dm-2", /^Noted on the task, and on its way\. You will be notified/, WORKER_TOKEN);
    await app.api("POST", "/v1/tasks", { title: "Described", assignTo: "person:web:2", description: FORGED });
    const described = await cardIn(app, "dm-2", WORKER_TOKEN, "Described");
    expectPlain(htmlOf(described));
  });
});

/** The answer that a task was added, which names its id. */
const cardInText = (app: TaskedApp, title: string) =>
  until(
    async () => (await app.room(ORIGIN)).find(({ text }) => text.includes("Added") && text.includes(title)),
    `the answer about ${title}`,
  );
