/** What `/hooks why` answers about a message that became a dead letter because the process ended each time that it was handled. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { invoke } from "./stack.js";

const LAB = `export default { id: "lab", setup({ hooks }) {
  const claiming = (id, priority, decide) =>
    hooks.registerClaiming("inbound_claim", ({ message }) => decide(message.text), { id, priority, timeoutMs: 60_000 });
  claiming("long", 10, async (text) => {
    if (!text.startsWith("long")) return null;
    await new Promise((done) => setTimeout(done, 50_000));
    return null;
  });
  claiming("die", 20, (text) => (text.startsWith("die") ? process.exit(9) : null));
  hooks.registerModifying("message_sending", ({ message }) => (message.text === "bad" ? process.exit(9) : null), { id: "sends" });
  claiming("bad", 25, (text) => (text === "bad" ? { handled: true, reply: "bad" } : null));
  hooks.registerVoid("message_received", ({ message }) => (message.text === "bg" ? new Promise((done) => setTimeout(done, 50_000)) : undefined), { id: "bg", execution: "background" });
  claiming("last", 30, () => ({ handled: true, reply: "done" }));
} };`;

const isText = (text: string) => ({ when: `payload.message.text == "${text}"` });

const folder = mkdtempSync(join(tmpdir(), "hookgate-cut-off-"));
const go = () => writeFileSync(join(folder, "go"), "");
let gateway: GatewayProcess;

beforeAll(async () => {
  writeFileSync(join(folder, "lab.mjs"), LAB);
  gateway = await gatewayProcess({
    folder,
    config: {
      gateway: { inbox_attempts: 2 },
      operators: { owner: ["web:1"] },
      web: {
        access: { dms: "everyone", chats: ["*"], mention: "always" },
        rooms: [{ id: "general", name: "General" }],
      },
      plugins: [{ module: "./lab.mjs", critical: true }],
      hooks: [
        {
          id: "sleeper",
          trigger: "manual",
          run: { shell: { sh: "[ -e quick ] || while [ ! -e go ]; do sleep 0.05; done" } },
        },
        { id: "quick", on: "inbound_claim", priority: 1, match: isText("long"), run: { shell: { command: ["true"] } } },
        {
          id: "waits",
          on: "inbound_claim",
          priority: 2,
          match: isText("program"),
          run: { shell: { sh: "while [ ! -e go ]; do sleep 0.05; done" } },
        },
      ],
    },
  });
  await gateway.start();
  await gateway.ready();
});
afterAll(async () => {
  go();
  await gateway.kill();
  rmSync(folder, { recursive: true, force: true });
});

const ask = async (line: string) => (await invoke(gateway.url, line)).text.replace(/[\\`*]/g, "");
/** What no answer may say about a point whose record was lost. */
const INVENTED = /did not (fire|run)|no hook was enabled|added or enabled later/i;
/** Undefined while nobody answers. */
const asked = (line: string) => ask(line).catch(() => undefined);

/** The process may end before it confirms the message. */
async function say(text: string): Promise<void> {
  const answer = await fetch(`${gateway.url}/api/rooms/general/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ text, nonce: `nonce-of-${text.replaceAll(" ", "-")}` }),
  }).catch(() => undefined);
  if (answer !== undefined) expect(answer.ok).toBe(true);
}

/** Starts the gateway again until the last message is given up. `crash` ends the process, or waits for its end. */
async function untilGivenUp(crash: () => Promise<unknown>, times = 2): Promise<string> {
  for (let start = 0; start < times; start++) {
    await crash();
    await gateway.start();
  }
  const path = await until(async () => {
    const text = await asked("/hooks why last");
    return text?.includes("was given up") ? text : undefined;
  }, "the dead letter");
  return /What happened to (m\d+)/.exec(path)?.[1] as string;
}

const killedIn = (hookId: string) => async () => {
  await until(
    async () => (await asked("/hooks why last"))?.includes(`${hookId} has been running`),
    `${hookId} at work`,
  );
  await gateway.kill();
};

it("a killed hook of a plugin may have run, and a configured one before it did", async () => {
  await say("long");
  const answers: string[] = [];
  const row = await untilGivenUp(async () => {
    await until(
      async () => (await asked("/hooks why last"))?.includes("lab.long has been running"),
      "lab.long at work",
    );
    answers.push(await ask("/hooks why lab.long"));
    await gateway.kill();
  });
  expect(answers[0]).toContain("It has not run before.");
  expect(answers[1]).toContain(
    "The gateway started this dispatch before, and it did not end: whether the hook ran then is not known.",
  );
  for (const id of ["lab.long", "lab.last"]) {
    const answer = await ask(`/hooks why ${id} ${row}`);
    expect(answer).toContain(`Whether ${id} ran for ${row} is not known.`);
    expect(answer).toContain("The end of the process cut that off 2 times");
    expect(answer).toContain("was given up after 2 attempts");
    expect(answer).not.toContain("did not");
  }
  expect(await ask(`/hooks why quick ${row}`)).toContain(`quick and ${row}: It ran, ✓ succeeded.`);
  const point = await ask(`/hooks why inbound_claim ${row}`);
  expect(point).toContain("quick: It ran, ✓ succeeded.");
  expect(point).toContain("cut that off 2 times");
  expect(point).not.toContain("did not");
  expect(await ask(`/run ${row}`)).toContain("Which hooks had started by then was not recorded.");
  expect(await ask(`/hooks why ${row}`)).toContain("Which hooks had started by then was not recorded.");
  // The message was not sent anywhere: that is known.
  expect(await ask(`/hooks why message_sent ${row}`)).toContain(`message_sent did not fire for ${row}`);
});

it("a message that was purged after it ended the process may have run as before", async () => {
  await say("die and be purged");
  const row = await untilGivenUp(() => gateway.ending());
  await ask("/outbox purge dead yes=true");
  for (const [line, unknown] of [
    [`/hooks why lab.die ${row}`, `lab.die ended the process with exit code 9 at inbound_claim, for ${row}`],
    [`/hooks why lab.last ${row}`, `Whether lab.last ran for ${row} is not known.`],
    [`/hooks why inbound_claim ${row}`, `Whether inbound_claim fired for ${row} is not known.`],
  ] as const) {
    const answer = await ask(line);
    expect(answer).toContain(unknown);
    expect(answer).toMatch(new RegExp(`${row} was dead: it was cut off 2 times.*, and purged by `));
    expect(answer).not.toMatch(INVENTED);
  }
  const now = await ask("/hooks why lab.die");
  expect(now).toContain("was interrupted: it ended the process with exit code 9");
  expect(now).not.toMatch(/never fired|has not fired/);
  expect(await ask("/hooks why inbound_claim")).not.toMatch(INVENTED);
  // The message was not sent anywhere: that is known.
  expect(await ask(`/hooks why message_sending ${row}`)).toContain(`message_sending did not fire for ${row}`);
});

it("a hook that ended the process may have run, and so may its point", async () => {
  await say("die");
  const row = await untilGivenUp(() => gateway.ending());
  // This process made none of the attempts.
  const given = await ask(`/hooks why ${row}`);
  expect(given).toContain("attempt 2; the process ended in between");
  expect(given).not.toContain("started again");
  expect(await ask(`/hooks why lab.die ${row}`)).toContain(
    `lab.die ended the process with exit code 9 at inbound_claim, for ${row}`,
  );
  const point = await ask(`/hooks why inbound_claim ${row}`);
  expect(point).toContain(`Whether inbound_claim fired for ${row} is not known.`);
  expect(point).toContain("the log names its hook");
  const ended = "interrupted (it ended the process with exit code 9)";
  expect(await ask("/hooks show lab.die")).toContain(ended);
  expect(await ask("/hooks why lab.die")).toContain(ended);
  expect(await ask("/hooks list never")).not.toContain("lab.die");
  // Of a point that the message never came to, it is known.
  expect(await ask("/hooks show lab.sends")).toContain("never fired");
  // The crashes stay in the story when an operator has it handled again.
  await ask("/hooks disable lab.die");
  await ask(`/outbox retry ${row}`);
  const path = await until(async () => {
    const text = await ask(`/hooks why ${row}`);
    return text.includes("claimed by lab.last") ? text : undefined;
  }, "the answer");
  expect(path).toMatch(new RegExp(`had ${row} tried again, after handling it was given up: .*crash the gateway`));
  // The platform delivered the message again after each crash: that uses up no number.
  await say("next");
  const next = `What happened to m${Number(row.slice(1)) + 1}`;
  await until(async () => (await asked("/hooks why last"))?.includes(next), next);
});

it("a hook that ended the process while an answer was on its way out may have run", async () => {
  await say("bad");
  for (let start = 0; start < 3; start++) {
    await gateway.ending();
    await gateway.start();
  }
  const held = async () => (await asked("/outbox list held"))?.includes("they may crash the gateway");
  await until(held, "the answer being held");
  const answer = await ask("/hooks why lab.sends last");
  expect(answer).toMatch(/lab\.sends ended the process with exit code 9 at message_sending, for d_m\d+/);
  expect(answer).toContain("cut that off 3 times");
  expect(answer).toContain("it is held: the gateway ended 3 times while hooks decided about it");
  expect(await ask("/hooks why message_sending last")).toMatch(/Whether message_sending fired for m\d+ is not known\./);
  await ask("/outbox purge held yes=true");
  for (const line of ["/hooks why lab.sends last", "/hooks why message_sending last"]) {
    const purged = await ask(line);
    expect(purged).toMatch(/^Whether (lab\.sends ran|message_sending fired) for m\d+ is not known\./);
    expect(purged).toContain(", and purged by ");
    expect(purged).not.toMatch(INVENTED);
  }
});

it("a configured hook that was cut off is named", async () => {
  await say("program");
  const row = await untilGivenUp(killedIn("waits"));
  await until(
    async () => (await ask(`/hooks why waits ${row}`)).includes("It started, and was interrupted"),
    "its end",
  );
  expect(await ask(`/hooks why ${row}`)).toContain("waits was interrupted: the gateway ended while it ran");
  expect(await ask(`/hooks why inbound_claim ${row}`)).toContain("waits: It started, and was interrupted");
});

it("a hook that an operator disabled may have run before the attempt that counted", async () => {
  await say("long once more");
  await until(async () => (await ask("/hooks why last")).includes("lab.long has been running"), "lab.long at work");
  await ask("/hooks disable lab.long");
  await gateway.kill();
  await gateway.start();
  const path = await until(async () => {
    const text = await asked("/hooks why last");
    return text?.includes("claimed by lab.last") ? text : undefined;
  }, "the answer");
  const row = /What happened to (m\d+)/.exec(path)?.[1];
  expect(path).toMatch(/attempt 2; the process ended in between and was started again at \d\d:\d\d:\d\d/);
  await gateway.kill();
  await gateway.start();
  await gateway.ready();
  const later = await ask(`/hooks why ${row}`);
  expect(later).toContain("attempt 2; the process ended in between");
  expect(later).not.toContain("started again");
  const answer = await ask(`/hooks why lab.long ${row}`);
  expect(answer).toContain("It was disabled then, by");
  expect(answer).toContain("That is the last attempt. Whether lab.long ran before it is not known.");
});

it("a firing that the end of the process cut off is the last one, and is not counted as a run that passed", async () => {
  writeFileSync(join(folder, "quick"), "");
  await ask("/fire-hook sleeper live=true");
  await until(async () => (await ask("/hooks why sleeper")).startsWith("sleeper ran for the last hook.due"), "its run");
  rmSync(join(folder, "quick"));
  void asked("/fire-hook sleeper live=true");
  await until(async () => (await ask("/hooks why sleeper")).includes("sleeper is running now"), "sleeper at work");
  await say("bg");
  await until(async () => (await ask("/hooks why lab.bg")).includes("lab.bg is running now"), "lab.bg at work");
  await until(async () => (await ask("/hooks why last")).includes("claimed by lab.last"), "the answer");
  await gateway.kill();
  await gateway.start();
  for (const [id, where] of [
    ["sleeper", "for the last hook.due"],
    ["lab.bg", "at message_received for m\\d+"],
  ]) {
    const why = await until(async () => {
      const text = await asked(`/hooks why ${id}`);
      return text?.includes("interrupted") ? text : undefined;
    }, `the end of ${id}`);
    expect(why).toMatch(
      new RegExp(`^${id} started ${where}, and was interrupted: the gateway ended while it ran.*Now it would run`),
    );
    expect(why).toMatch(
      /It last fired (.* ago|just now): interrupted \(the gateway ended .*\)\. Before that, it last fired .*: ✓ passed/,
    );
    const show = await ask(`/hooks show ${id}`);
    expect(show).toMatch(/last fired: .*, interrupted \(the gateway ended/);
    expect(show).toMatch(/24 h: \d+ fires?, 0 failures, \d+ interrupted/);
  }
});

/** Hooks at message_received that the message does not wait for, one that kills the process when they have begun, and one that does on the way out. */
const KILLER = `import { existsSync } from "node:fs";
let hasBegun = false;
const until = async (holds) => { while (!holds()) await new Promise((done) => setTimeout(done, 20)); };
const kill = () => { process.kill(process.pid, "SIGKILL"); return new Promise(() => {}); };
export default { id: "p", setup({ hooks }) {
  const received = (id, execution, run) => hooks.registerVoid("message_received", ({ message }) => run(message.text), { id, execution });
  const begin = (text) => {
    hasBegun = true;
    return text === "boom" ? new Promise((done) => setTimeout(done, 50_000)) : undefined;
  };
  received("far", "fire_and_record", begin);
  received("bg", "background", begin);
  received("quick", "background", () => {});
  const claiming = (id, priority, decide) =>
    hooks.registerClaiming("inbound_claim", ({ message }) => decide(message.text), { id, priority, timeoutMs: 60_000 });
  claiming("boom", 10, async (text) => {
    if (text !== "boom") return null;
    await until(() => hasBegun && existsSync("go"));
    return kill();
  });
  claiming("claim", 30, (text) => ({ handled: true, reply: text }));
  hooks.registerModifying("message_sending", ({ message }) => (message.text === "bad" ? kill() : null), { id: "sends" });
} };`;

describe("a plugin's hook kills the process", () => {
  const own = mkdtempSync(join(tmpdir(), "hookgate-killed-"));
  let former: GatewayProcess;
  beforeAll(async () => {
    writeFileSync(join(own, "lab.mjs"), KILLER);
    former = gateway;
    gateway = await gatewayProcess({
      folder: own,
      config: {
        gateway: { inbox_attempts: 3 },
        operators: { owner: ["web:1"] },
        web: {
          access: { dms: "everyone", chats: ["*"], mention: "always" },
          rooms: [{ id: "general", name: "General" }],
        },
        plugins: [{ module: "./lab.mjs", critical: true }],
      },
    });
    await gateway.start();
    await gateway.ready();
  });
  afterAll(async () => {
    await gateway.kill();
    gateway = former;
    rmSync(own, { recursive: true, force: true });
  });

  it("and nothing is said of points whose records were lost with it, also where a background run has a record", async () => {
    await say("hello");
    await until(async () => (await ask("/hooks why last")).includes("claimed by p.claim"), "the first one");
    await say("boom");
    await until(async () => (await ask("/hooks why p.bg last")).includes("It is running now"), "p.bg at work");
    await until(async () => (await ask("/hooks why p.quick last")).includes("It ran, ✓ passed"), "the end of p.quick");
    writeFileSync(join(own, "go"), "");
    const row = await untilGivenUp(() => gateway.ending(), 3);
    expect(await ask(`/hooks why p.quick ${row}`)).toContain("It ran, ✓ passed");
    const bg = await until(async () => {
      const text = await ask(`/hooks why p.bg ${row}`);
      return text.includes("interrupted") ? text : undefined;
    }, "the end of p.bg");
    expect(bg).toContain(`p.bg and ${row}: It started, and was interrupted`);
    for (const id of ["p.far", "p.boom", "p.claim"]) {
      const answer = await ask(`/hooks why ${id} ${row}`);
      expect(answer).toContain(`Whether ${id} ran for ${row} is not known.`);
      expect(answer).not.toMatch(INVENTED);
    }
    for (const point of ["message_received", "inbound_claim"])
      expect(await ask(`/hooks why ${point} ${row}`)).not.toMatch(INVENTED);
    const unrecorded = `The process ended while hooks were at work on ${row}, after that: what ran for it at`;
    for (const [id, point] of [
      ["p.boom", "inbound_claim"],
      ["p.claim", "inbound_claim"],
      ["p.far", "message_received"],
    ]) {
      const answer = await ask(`/hooks why ${id}`);
      expect(answer).toContain(`${id} ran for the last ${point} on record.`);
      expect(answer).toContain(`${unrecorded} ${point} before the end of the process is not recorded.`);
    }
    for (const id of ["p.boom", "p.claim", "p.far"])
      expect(await ask(`/hooks show ${id}`)).toMatch(
        new RegExp(
          `last fired: .*; whether it ran after that is not known: the process ended while hooks were at work on ${row}`,
        ),
      );
    expect(await ask("/hooks list p.claim")).toMatch(/p\.claim +\S+( \S+)*\? /);
    const point = await ask("/hooks why inbound_claim");
    expect(point).toContain("inbound_claim last fired on record:");
    expect(point).toContain(unrecorded);
  });

  it("while the answer is on its way out, and what ran before that is not recorded", async () => {
    await say("bad");
    for (let start = 0; start < 3; start++) {
      await gateway.ending();
      await gateway.start();
    }
    const held = async () => (await asked("/outbox list held"))?.includes("they may crash the gateway");
    await until(held, "the answer being held");
    const path = await ask("/hooks why last");
    const row = /What happened to (m\d+)/.exec(path)?.[1] as string;
    expect(path).toContain(
      "claimed by p.claim · what ran at inbound_claim before the end of the process is not recorded",
    );
    expect(path).toContain("received · what ran at message_received before the end of the process is not recorded");
    expect(path).not.toMatch(INVENTED);
    const ended = `The process ended soon after that, while hooks decided about d_${row}r, and what ran before its end is not recorded.`;
    const claim = await ask(`/hooks why p.claim ${row}`);
    expect(claim).toContain(`p.claim ran for ${row}.`);
    expect(claim).toContain(`p.claim claimed the message there. ${ended}`);
    for (const id of ["p.boom", "p.far"]) {
      const answer = await ask(`/hooks why ${id} ${row}`);
      expect(answer).toContain(`Whether ${id} ran for ${row} is not known.`);
      expect(answer).toContain(ended);
      expect(answer).not.toMatch(INVENTED);
    }
    for (const point of ["message_received", "inbound_claim"]) {
      const answer = await ask(`/hooks why ${point} ${row}`);
      expect(answer).toContain(ended);
      expect(answer).not.toMatch(INVENTED);
    }
  });
});

describe("a hook that ended the gateway until it was given up is not called one that never ran, or passed", () => {
  const own = mkdtempSync(join(tmpdir(), "hookgate-given-up-"));
  const PLUGIN = `export default { id: "ex", setup({ hooks }) {
    const ends = (id, hook, phase, isIts) =>
      hooks.register({ hook, phase, id, handler({ data }) { if (isIts(data)) process.exit(10); } });
    ends("ca", "task:create", "after", ({ title }) => title === "ends after");
    ends("cb", "task:create", "before", ({ title }) => title === "ends before");
    ends("ta", "task:transition", "after", ({ task, to }) => task.title === "ends moved" && to === "done");
    ends("sb", "task:spawn", "before", ({ task }) => task.title === "ends spawn");
    hooks.registerClaiming("inbound_claim", ({ message }) => ({ handled: true, reply: "r " + message.text }), { id: "claim" });
    hooks.registerVoid("message_sent", ({ message }) => { if (message.text === "r ends") process.exit(9); }, { id: "ms" });
  } };`;

  beforeAll(async () => {
    await gateway.kill();
    writeFileSync(join(own, "ex.mjs"), PLUGIN);
    gateway = await gatewayProcess({
      folder: own,
      config: {
        plugins: ["./ex.mjs"],
        operators: { owner: ["web:1"] },
        web: {
          access: { dms: "everyone", chats: ["*"], mention: "always" },
          rooms: [{ id: "general", name: "General" }],
        },
        orchestrator: { max_crashes: 1, tick: "200ms", lease: "2s", runners: { ok: { shell: { command: ["true"] } } } },
      },
    });
    await gateway.start();
    await gateway.ready();
  });
  afterAll(() => rmSync(own, { recursive: true, force: true }));

  /** Ends the gateway so often, and starts it again. */
  async function endingBy(work: () => Promise<unknown>, times: number): Promise<void> {
    await work().catch(() => undefined);
    for (let end = 0; end < times; end++) {
      await gateway.ending();
      await gateway.start();
    }
    await gateway.ready();
  }
  const GUESSED = /never fired|has not fired|did not (fire|run)|no hook was enabled|did not fire, or/i;
  /** The answer, once the gateway has given the hooks up. */
  const known = (line: string) =>
    until(
      async () => {
        const text = await asked(line);
        return text?.includes("called again") && !text.includes("When it is its turn") ? text : undefined;
      },
      () => `an answer to ${line} that is known`,
    );
  const idOf = async (title: string) =>
    until(async () => /t_\w+/.exec((await asked(`/task show "${title}"`)) ?? "")?.[0], `the task ${title}`);

  it("at the end of a delivery", async () => {
    await endingBy(() => say("ends"), 4);
    const answer = await known("/hooks why ex.ms");
    expect(answer).toContain("The gateway crashed 4 times in a row while hooks at message_sent were at work on d_m");
    expect(answer).not.toMatch(GUESSED);
    expect(await ask("/hooks show ex.ms")).toMatch(/last fired: .*it ended the process with exit code 9/);
    const row = /What happened to (m\d+)/.exec(await ask("/hooks why last"))?.[1] as string;
    for (const line of [`/hooks why message_sent ${row}`, `/hooks why ex.ms ${row}`, "/hooks why message_sent"]) {
      const text = await ask(line);
      expect(text).toContain("crashed 4 times in a row");
      expect(text).not.toMatch(GUESSED);
    }
    expect(await ask(`/hooks why ${row}`)).toContain("hooks at message_sent crashed the gateway 4 times in a row");
    expect(await ask("/status")).toMatch(
      /Up, but hooks crashed the gateway at one change in 24 h, 1 hook ended the gateway in 24 h.*⚠ ex\.ms ended the process with exit code 9 at message_sent, for d_m/s,
    );
    expect(await ask(`/hooks why message_sent ${row}`)).toContain("ex.ms ended the process with exit code 9");
  });

  it("at `after`, where it passed before", async () => {
    await ask('/task add ok "fine"');
    await until(async () => (await asked("/hooks why ex.ca"))?.includes("✓ passed"), "the first run");
    for (const [hook, point, title] of [
      ["ex.ca", "task:create", "ends after"],
      ["ex.ta", "task:transition", "ends moved"],
    ] as const) {
      await endingBy(() => ask(`/task add ok "${title}"`), 2);
      const answer = await known(`/hooks why ${hook}`);
      const id = await idOf(title);
      const crash = `The gateway crashed 2 times in a row while hooks at ${point} (after) were at work on ${id}`;
      expect(answer).toContain("was interrupted: it ended the process with exit code 10");
      expect(answer).toContain(crash);
      expect(await ask(`/hooks why ${point} ${id}`)).toContain(crash);
      expect(await ask(`/hooks why ${hook} ${id}`)).toContain("is not recorded");
      expect(await ask(`/hooks show ${hook}`)).toContain("it ended the process with exit code 10");
      expect(await ask("/status")).toContain(`${crash} (`);
    }
  });

  it("at `before` of a task that is held", async () => {
    await endingBy(() => ask('/task add ok "ends spawn"'), 2);
    const id = await idOf("ends spawn");
    const answer = await until(async () => {
      const text = await asked(`/hooks why task:spawn ${id}`);
      return text?.includes("They are not called again by themselves.") ? text : undefined;
    }, "the task being held");
    expect(answer).toContain(`crashed 2 times in a row while hooks at task:spawn were at work on ${id}`);
    expect(answer).not.toMatch(GUESSED);
  });

  it("at `before` of a task that a command was to create", async () => {
    await endingBy(() => ask('/task add ok "ends before"'), 1);
    const answer = await ask("/hooks why ex.cb");
    expect(answer).toContain("it ended the process with exit code 10");
    expect(answer).not.toMatch(GUESSED);
    const status = await ask("/status");
    expect(status).toContain("crashed once while hooks at task:create were at work");
    expect(status).not.toMatch(/never fired:.*ex\.cb/);
  });
});
