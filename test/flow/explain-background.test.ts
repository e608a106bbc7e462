/** What `/hooks why`, `/run` and `/runs` answer about hooks that run in the background, as the stored runs and the person who sent the message know it. */
import { rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { jsonLines } from "../support/lines.js";
import { until } from "../support/until.js";
import { allOnline, invoke, type Stack, startStack } from "./stack.js";

const WEB = ["web"];
const WAITS = { shell: { sh: "while [ ! -e go-lineup ]; do sleep 0.05; done" } };
const QUICK = { shell: { command: ["true"] } };
const PONG = { shell: { sh: `echo '{"decision":"claim","reply":"pong"}'` } };
const WORDS = ["money", "hush", "guarded", "tea"];
const ANSWER = {
  shell: {
    sh: `for word in ${WORDS.join(" ")}; do case "$HOOKGATE_PAYLOAD" in *"answer $word"*) echo '{"decision":"claim","reply":"'$word' now"}';; esac; done`,
  },
};
const isLine = { when: 'payload.message.text.startsWith("line")' };

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    withFlow: false,
    online: WEB,
    plugins: [{ module: resolve(import.meta.dirname, "../fixtures/plugins/explain.mjs"), critical: true }],
    config: {
      gateway: { max_deferrals: 1 },
      operators: { owner: ["web:1"], admin: ["web:3"] },
      web: {
        access: { dms: "everyone", chats: ["general"], mention: "always" },
        rooms: [
          { id: "general", name: "General" },
          { id: "second", name: "Second" },
        ],
        people: [{ id: "3", name: "Grace", token_env: "GUEST_TOKEN" }],
      },
      hooks: [
        { id: "ping", on: "inbound_claim", priority: 1, match: { when: 'payload.message.text == "ping"' }, run: PONG },
        {
          id: "answerer",
          on: "inbound_claim",
          priority: 1,
          match: { when: 'payload.message.text.startsWith("answer")' },
          run: ANSWER,
        },
        {
          id: "blocker",
          on: "inbound_claim",
          priority: 2,
          match: { when: 'payload.message.text.startsWith("block")' },
          run: { shell: { sh: "echo no blocks here >&2; exit 2" } },
        },
        { id: "lineup", on: "message_received", match: isLine, run: WAITS },
        {
          id: "skipper",
          on: "message_received",
          match: { when: 'payload.message.text == "skip"' },
          context: [{ shell: { command: ["true"], skip_if: "empty" } }],
          run: QUICK,
        },
        {
          id: "cutoff",
          on: "message_received",
          match: { when: 'payload.message.text == "line to the end"' },
          run: WAITS,
        },
        {
          id: "flaky",
          on: "message_received",
          match: { when: 'payload.message.text == "flaky"' },
          retry: { attempts: 3, backoff: "1s" },
          run: {
            shell: {
              sh: "if [ ! -e tried ]; then touch tried; exit 1; fi; while [ ! -e go-flaky ]; do sleep 0.05; done",
            },
          },
        },
        { id: "creating", on: "task:create", phase: "before", run: QUICK },
        { id: "before", on: "message_received", priority: 10, execution: "deadline", run: QUICK },
        { id: "after", on: "message_received", priority: 900, execution: "deadline", run: QUICK },
        {
          id: "sayer",
          on: "message_received",
          match: { when: 'payload.message.text.startsWith("post")' },
          run: { chat: { to: "web:web:second", text: "{{ event.message.text | remove_first: 'post ' }}" } },
        },
      ],
    },
  });
});
afterAll(() => stack.stop());

const bare = (text: string) => text.replace(/[\\`*]/g, "");
const why = async (line: string) => bare((await invoke(stack.gateway.url, line)).text);
const go = () => writeFileSync(join(stack.gateway.folder, "go-lineup"), "");
const stop = () => rmSync(join(stack.gateway.folder, "go-lineup"), { force: true });

function rows<T>(sql: string, ...values: unknown[]): T[] {
  const database = openSqlite(join(stack.gateway.folder, "data/hookgate.db"), { readonly: true });
  try {
    return database.prepare(sql).all(...values) as T[];
  } finally {
    database.close();
  }
}

/** Sends it; resolves with the gateway's own id when the message was handled. */
async function say(text: string, place = stack.platforms.web.places[0]): Promise<string> {
  const id = await stack.platforms.web.say(place, "owner", text);
  return until(() => {
    const [found] = rows<{ id: number }>(
      "SELECT id FROM inbox WHERE platform = 'web' AND chat = ? AND event_id = ? AND status = 'done'",
      place.chatId,
      id,
    );
    return found && `m${found.id}`;
  }, `"${text}" being handled`);
}

/** The stored run of `lineup` for this message has this status. */
const lineupIs = (row: string, status: string) =>
  until(
    () =>
      rows(
        "SELECT 1 FROM automation_runs WHERE hook_id = 'lineup' AND status = ? AND id GLOB ?",
        status,
        `${row}:message_received/*`,
      ).length > 0,
    `the run of lineup for ${row} being ${status}`,
  );

describe("a hook that runs in the background", () => {
  it("is running, waiting, paused or switched off as its stored run is, and its point counts every hook", async () => {
    const first = await say("line one");
    const second = await say("line two");
    try {
      await lineupIs(first, "running");
      expect(await why(`/hooks why lineup ${first}`)).toContain("It is running now");
      const waiting = await why(`/hooks why lineup ${second}`);
      expect(waiting).toContain("It has not run yet");
      expect(waiting).not.toContain("It ran");
      await invoke(stack.gateway.url, "/hooks pause", "the-token-of-a-guest-0001");
      expect(await why(`/hooks why lineup ${second}`)).toContain("because Grace paused all hooks");
      await invoke(stack.gateway.url, "/hooks resume");
      expect(await why(`/run ${second}`)).toContain(
        "message_received: 2 hooks ran, 4 skipped, 1 waiting in the background",
      );
      const disabled = await why("/hooks disable lineup");
      expect(disabled).toContain(
        "1 run of it waits, and is skipped when its turn comes, unless it is enabled before that",
      );
      expect(await why("/hooks why lineup")).toContain(
        "1 more run waits for its turn, and is skipped then, because the hook is disabled.",
      );
    } finally {
      go();
    }
    await lineupIs(second, "skipped");
    const skipped = await why(`/hooks why lineup ${second}`);
    expect(skipped).toContain("It did not run: its hook is switched off");
    expect(skipped).toMatch(/disabled.*, by Owner/);
    expect(skipped).not.toContain("It ran");
    expect(await why(`/hooks why ${second}`)).toContain(
      "lineup was skipped: its hook is switched off or not there any more",
    );
    expect(await why(`/run ${second}`)).toContain("message_received: 2 hooks ran, 5 skipped");
    await lineupIs(first, "succeeded");
    const ended = await why(`/hooks why lineup ${first}`);
    expect(ended).toMatch(/It ran(, ✓ passed| in the background, ✓ succeeded)/);
    expect(ended).not.toContain("backgrounded");
    expect(await why(`/run ${first}`)).toContain("message_received: 3 hooks ran, 4 skipped");
    expect(await why(`/hooks why before ${first}`)).toContain("3 runs, 4 skipped");
    await invoke(stack.gateway.url, "/hooks enable lineup");
  });

  it("and was skipped at its first attempt, did not run, and its reason is not masked by the words of the message", async () => {
    const row = await say("skip");
    await until(
      () => rows("SELECT 1 FROM automation_runs WHERE hook_id = 'skipper' AND status = 'skipped'").length > 0,
      "the run being skipped",
    );
    const path = await why(`/hooks why ${row}`);
    expect(path).not.toContain("was not tried again");
    expect(path).toMatch(/message_received: 2 hooks ran, \d skipped/);
    expect(await why(`/hooks why skipper ${row}`)).toContain("skip_if: steps[0] shell: empty");
  });

  it("does not hide the hooks that ran beside it in the list of runs", async () => {
    const row = await say("line in the list");
    await lineupIs(row, "succeeded");
    const runs = rows<{ runs: number }>(
      "SELECT count(*) AS runs FROM automation_runs WHERE hook_id = 'lineup' AND status = 'succeeded'",
    )[0]?.runs;
    const fires = async () => ((await invoke(stack.gateway.url, "/hooks show lineup")).data as { fires: number }).fires;
    // The journal has the end of a run a moment after its row.
    await until(async () => (await fires()) >= (runs ?? 0), "the runs being counted");
    expect(await fires()).toBe(runs);
    const { text, data } = await invoke(stack.gateway.url, "/runs message_received limit=2");
    const { dispatches } = data as { dispatches: { id: string }[] };
    const index = dispatches.findIndex(({ id }) => id === `${row}:message_received`);
    expect(text.split("\n").find((line) => line.startsWith(`${index + 1}. `))).toContain("3 hooks");
  });
});

describe("a message that a hook posted because of another", () => {
  it.each([
    ["money now", "cancelled", "It ran, ⊘ cancelled", "talks about money"],
    ["coffee and money", "cancelled", "It ran, ⊘ cancelled", "talks about money"],
    ["coffee", "sent", "It ran, ✓ passed", "posted because of the message"],
  ])("is explained by that other, too: %s is %s", async (text, status, ran, reason) => {
    const row = await say(`post ${text}`);
    const id = await until(
      () =>
        rows<{ id: string }>(
          "SELECT id FROM deliveries WHERE status = ? AND json_extract(data, '$.cause.id') GLOB ?",
          status,
          `${row}:message_received/*`,
        )[0]?.id,
      "the post",
    );
    const path = await why(`/run ${row}`);
    expect(path).toMatch(
      new RegExp(`${id} to Second .*${status}.* · posted by sayer|${id} sent to Second .* · posted by sayer`),
    );
    if (status === "cancelled") expect(path).not.toContain("changed by");
    const answer = await why(`/hooks why mine.guard ${row}`);
    expect(answer).toContain(ran);
    expect(answer).toContain(reason);
    expect(answer).toContain(`for ${id}, which sayer posted because of the message`);
    const poster = await why(`/hooks why sayer ${row}`);
    const { text: runs, data } = await invoke(stack.gateway.url, "/runs sayer limit=1");
    const [{ id: runId }] = (data as { runs: [{ id: string }] }).runs;
    const head = (await why(`/run ${runId}`)).split("\n")[0];
    if (status === "cancelled") {
      expect(poster).toMatch(
        new RegExp(`It had no effect: its message ${id} to Second .* is cancelled by mine.guard: ${reason}`),
      );
      expect(runs).toContain("⊘ not sent");
      expect(head).toContain("⊘ not sent");
    } else {
      expect(poster).not.toContain("no effect");
      expect(runs).toContain("✓ succeeded");
      expect(head).toContain("✓ succeeded");
    }
    if (status === "cancelled")
      expect(await why(`/hooks why mine.sent ${row}`)).toContain(
        `${id}, which sayer posted because of the message: it was not sent. It is cancelled by mine.guard: ${reason}`,
      );
  });
});

describe("a claim whose reply hooks decide about", () => {
  it.each([
    ["money", "cancelled", "is cancelled by mine.guard: talks about money"],
    ["hush", "suppressed", "is suppressed by mine.quiet: it is night"],
    ["guarded", "held", "the guard is out of order"],
    ["tea", "sent", "is sent"],
  ])("is explained with what became of the reply: %s is %s", async (word, status, fate) => {
    const row = await say(`answer ${word}`);
    const reply = `d_${row}r`;
    await until(() => rows("SELECT 1 FROM deliveries WHERE id = ? AND status = ?", reply, status)[0], status);
    const [{ id }] = rows<{ id: string }>(
      "SELECT id FROM automation_runs WHERE hook_id = 'answerer' AND id GLOB ?",
      `${row}:inbound_claim/*`,
    ) as [{ id: string }];
    const shown = await why(`/run ${id}`);
    expect(shown).toContain(`its reply ${reply} to General (web:web:general) is ${status}`);
    expect(shown).toContain(fate);
    expect(await why(`/hooks why answerer ${row}`)).toContain(
      `its reply ${reply} to General (web:web:general) is ${status}`,
    );
    const isSent = status === "sent";
    const outcome = isSent ? "✓ succeeded" : "⊘ reply not sent";
    expect(shown.split("\n")[0]).toContain(outcome);
    expect(await why("/runs answerer limit=1")).toContain(outcome);
    expect(shown.includes("no one got a reply")).toBe(!isSent);
  });
});

describe("a message of the owner in a place that is not listed", () => {
  it("is skipped by hooks with that reason, and not for the sender", async () => {
    const row = await say("line elsewhere", stack.platforms.web.places[1]);
    const answer = await why(`/hooks why before ${row}`);
    expect(answer).toContain("was denied (this place is not listed)");
    expect(answer).not.toContain("person without access");
  });
});

describe("a message that a hook puts off too often", () => {
  it("went on as if no hook had claimed it, and is not said to be offered again", async () => {
    const row = await say("never now");
    const answer = await why(`/hooks why mine.late ${row}`);
    expect(answer).toContain(
      "mine.putter runs before it and put the message off (not yet) more often than gateway.max_deferrals allows",
    );
    expect(answer).toContain("the hooks after mine.putter were not asked");
    expect(answer).not.toContain("offered again");
    const atPoint = await why(`/hooks why inbound_claim ${row}`);
    expect(atPoint).toContain("more often than gateway.max_deferrals allows");
    expect(await why(`/hooks why mine.putter ${row}`)).toMatch(
      /It put the message off: not yet[\s\S]*would have put the message off more often than gateway.max_deferrals allows/,
    );
    const first = await why(`/run ${row}:inbound_claim`);
    expect(first).toContain(`This was not the last word: the hooks were asked again. ${row}:inbound_claim:2 counted`);
    const cut = await why(`/run ${row}:inbound_claim:2`);
    expect(cut).toContain("it was not put off again: it went on as if no hook had claimed it");
    expect(cut).toContain(`${row} is unrouted`);
    expect(await why(`/run ${row}`)).toContain(
      "it went on as if no hook had claimed it, and the hooks after that one were not asked",
    );
  });
});

describe("a delivery that is held again after its release", () => {
  it("is shown in the order of time, and its present state comes last", async () => {
    const row = await say("say guarded again");
    const id = `d_${row}r`;
    const heldIn = (round: number) =>
      until(
        () => rows("SELECT 1 FROM deliveries WHERE id = ? AND status = 'held' AND round = ?", id, round).length > 0,
        `${id} being held in round ${round}`,
      );
    await heldIn(1);
    await invoke(stack.gateway.url, `/outbox release ${id}`);
    await heldIn(2);
    const lines = (await why(`/run ${row}`)).split("\n").filter((line) => /mine\.guard|released/.test(line));
    expect(lines).toEqual([
      expect.stringMatching(/✗ mine\.guard failed/),
      expect.stringMatching(/released/),
      expect.stringMatching(/✗ mine\.guard failed/),
      expect.stringMatching(/held/),
    ]);
  });
});

describe("a guard that was disabled before a release", () => {
  it("is shown with its first run, and with why it did not run again", async () => {
    const row = await say("say guarded once");
    const id = `d_${row}r`;
    const isIn = (status: string) =>
      until(
        () => rows("SELECT 1 FROM deliveries WHERE id = ? AND status = ?", id, status).length > 0,
        `${id} being ${status}`,
      );
    await isIn("held");
    await invoke(stack.gateway.url, "/hooks disable mine.guard");
    await invoke(stack.gateway.url, `/outbox release ${id}`);
    await isIn("sent");
    const again = /fired again for it, .*, and it did not run then. It was disabled then, by[\s\S]*✗ failed/;
    await until(async () => again.test(await why(`/hooks why mine.guard ${id}`)), "the second firing");
    await invoke(stack.gateway.url, "/hooks enable mine.guard");
  });
});

describe("a dry run", () => {
  it("is no firing of its point", async () => {
    await invoke(stack.gateway.url, '/fire-hook task:create {"title":"x","description":"x","assignTo":"ok"}');
    expect(await why("/hooks why creating")).toContain("It never fired. task:create has not fired either.");
  });
});

// The last of the suite: it kills the gateway.
describe("a background run that the end of the process cut off", () => {
  it("was interrupted, and did not run to its end", async () => {
    stop();
    const row = await say("line to the end");
    await lineupIs(row, "running");
    await why("/runs");
    await stack.gateway.kill();
    await stack.gateway.start();
    await allOnline(stack.gateway, 90_000, WEB);
    await lineupIs(row, "interrupted");
    const answer = await why(`/hooks why lineup ${row}`);
    expect(answer).toContain("It was interrupted: the gateway ended while it ran");
    expect(answer).not.toContain("It ran");
    // The one run of its life: it did fire.
    expect(await why("/hooks show cutoff")).not.toContain("never fired");
    expect(await why("/hooks list never")).not.toContain("cutoff");
    expect(await why(`/hooks why ${row}`)).toContain("cutoff was interrupted: the gateway ended while it ran");
    // When the process died is not known, so there is no duration: the time until the restart is not part of the run.
    const { data } = await invoke(stack.gateway.url, "/runs lineup limit=1");
    const [{ id, attempts }] = (data as { runs: [{ id: string; attempts: object[] }] }).runs;
    expect(attempts.at(-1)).toMatchObject({ status: "interrupted" });
    expect(attempts.at(-1)).not.toHaveProperty("endedAt", expect.anything());
    expect((await why(`/run ${id}`)).split("\n")[0]).toMatch(/^lineup ✗ interrupted · [^·]+ · message_received fired/);
    const completed = await until(
      () => jsonLines<{ runId: string }>(join(stack.gateway.folder, "completed.jsonl")).find((one) => one.runId === id),
      "hook_run_completed",
    );
    expect(completed).not.toHaveProperty("durationMs", expect.anything());
  });
});

describe("a background run that is tried again", () => {
  it("is shown in the answer about its message as it is now, also after the end of the process, and with its outcome", async () => {
    const row = await say("flaky");
    const last = async () => (await why(`/hooks why ${row}`)).trim().split("\n").at(-1) ?? "";
    const shows = (line: RegExp) => until(async () => line.test(await last()), `the last line being ${line}`);
    await shows(/flaky is tried again (now|at [\d:]+ \(in )/);
    await shows(/flaky is running now, in the background, for \S+( \S+)* \(attempt 2\)$/);
    const path = await why(`/hooks why ${row}`);
    expect(path).toContain("Nothing has been sent in answer yet.");
    expect(path).toMatch(/message_received: 2 hooks ran, \d skipped, 1 running in the background/);
    await stack.gateway.kill();
    await stack.gateway.start();
    await allOnline(stack.gateway, 90_000, WEB);
    await shows(/flaky is running now, .* \(attempt 3; attempt 2 was interrupted: the gateway ended while it ran\)$/);
    writeFileSync(join(stack.gateway.folder, "go-flaky"), "");
    await shows(/\d flaky ✓ succeeded at attempt 3; attempt 2 was interrupted: the gateway ended while it ran$/);
    expect(await why(`/hooks why ${row}`)).toContain("Nothing was sent in answer.");
  });
});

describe("a dry run of a point", () => {
  it("shows that the programs of configured hooks were not called", async () => {
    const fired = await why('/fire-hook inbound_claim example {"message":{"text":"ping"}}');
    expect(fired).toMatch(/○ not called \(dry run\) +ping/);
    expect(fired).not.toMatch(/✓ passed +(ping|blocker)/);
    const other = await why('/fire-hook inbound_claim example {"message":{"text":"block x"}}');
    expect(other).toMatch(/○ not called \(dry run\) +blocker/);
    expect(await why('/fire-hook inbound_claim example {"message":{"text":"block x"}} live=true')).toContain(
      "no blocks here",
    );
    const one = await why('/fire-hook ping example {"message":{"text":"ping"}}');
    expect(one).toContain("Dry run ping ○ not called (dry run)");
  });

  it("is replayed without a difference where a program was not called", async () => {
    const replayed = await why(`/replay ${await say("ping")}:inbound_claim`);
    expect(replayed).not.toContain("Different from then");
    expect(replayed).toContain("Not compared, because a dry run does not call it: ping");
    expect(replayed).toMatch(/– skipped +blocker/);
    const blocked = await say("block the replay");
    expect(await why(`/replay ${blocked}:inbound_claim`)).not.toContain("Different from then");
    expect(await why(`/replay ${blocked}:inbound_claim live=true`)).toContain("came to the same outcome as then");
  });
});
