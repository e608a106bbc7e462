/** Answers on a phone: with names as long as people give them, no line of a code block in a chat is longer than a phone shows. */
import { expect, it } from "vitest";
import { commandSpecs } from "../../commands/index.js";
import { CHAT_WIDTH } from "../../commands/show/text.js";
import { missionApp } from "../orchestrator/mission-app.js";
import { until } from "../support/until.js";

const HOOK = "notify-customer-success-about-escalations";
const NIGHTLY = "nightly-backup-verification-of-all-regions";
const PLUGIN_HOOK = "guard-against-personal-data-in-public-channels";
const RUNNER = "nightly-build-and-verification";
const PERSON = "customer-success-engineer-on-duty";
const PLAN = "quarterly-release-verification";
const TITLE = "Verify the quarterly release in every region before customers are told";
const POLICY = "completion-of-tasks-for-customers-with-a-premium-contract";

const GROUP = {
  name: "verification-in-all-regions",
  tasks: [
    { id: "compile", title: TITLE, assignTo: RUNNER, expectations: [{ when: "result.exitCode == 0" }] },
    { id: "sign", title: `Sign off: ${TITLE}`, assignTo: PERSON },
  ],
  gate: { name: "approval-by-the-release-manager" },
};

const PLUGIN = `
  api.hooks.registerModifying("message_sending", ({ message }) => {
    if (message.text === "say something personal") throw new Error("the pattern of personal data is broken: it was cut off in the middle");
    return { message: { ...message, text: message.text + "." } };
  }, { id: "${PLUGIN_HOOK}", failurePolicy: "fail-closed" });
  api.hooks.registerClaiming("inbound_claim", ({ message }) => message.text.startsWith("say ") ? { handled: true, reply: { text: message.text } } : null, { id: "answers-everything-that-begins-with-say" });
  api.hooks.register({ hook: "task:create", phase: "before", name: "${PLUGIN_HOOK}-in-tasks", handler() {} });
  api.hooks.register({ hook: "task:create", phase: "after", name: "${PLUGIN_HOOK}-in-tasks", handler() {} });
`;

interface Posted {
  id: number;
  replyToId?: number;
  text: string;
  html: string;
  card?: { html?: string; fields?: { html: string }[] };
}

/** What an action is given; without, it is given alone. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  help: ["", "hooks", "group=alerts"],
  "hooks show": [HOOK, NIGHTLY],
  "hooks why": ["", HOOK, `${PLUGIN_HOOK} last`, "inbound_claim"],
  "hooks order": ["message_sending", "inbound_claim", "task:create"],
  "hooks test": [`${PLUGIN_HOOK} example`, `${HOOK} example`],
  "hooks disable": [HOOK],
  "hooks enable": [HOOK],
  runs: ["", "all", "failed", "configured", HOOK, PLUGIN_HOOK, "message_sending", "last", "succeeded", "claimed"],
  run: ["1", "last", "$ROW"],
  "fire-hook": ["message_sending example", `${NIGHTLY} live=true`, "task:create example phase=before"],
  replay: ["1", "last"],
  "outbox list": ["", "held", "sent"],
  "outbox show": ["$HELD"],
  audit: ["", "done", "failed"],
  "task list": ["", "all"],
  "task show": ["$TASK"],
  "task add": [`${RUNNER} "${TITLE}"`],
  "task note": ["$TASK It takes longer than was thought"],
  "mission show": ["$MISSION"],
  "mission report": ["$MISSION"],
  "mission cancel": ["$MISSION"],
  "mission run": [PLAN],
  "schedule add": [`${PLAN} "0 9 * * MON-FRI"`],
  "add-task": [`"${TITLE}" to=${PERSON} due=2h`],
  "alerts show": ["$ALERT"],
  "silence add": [`policy=${POLICY} 2h maintenance of the region Frankfurt`],
  "sla show": ["$CLOCK"],
  "sla report": ["30"],
};

it("holds for every command and every action", { timeout: 240_000 }, async () => {
  const app = await missionApp(
    { [PLAN]: { title: TITLE, groups: [GROUP] } },
    {
      runners: { [RUNNER]: { shell: { sh: "echo verified" } }, [PERSON]: { person: { user: "web:2" } } },
      plugin: PLUGIN,
      config: {
        operators: { owner: ["web:1"], operator: ["web:2"] },
        web: {
          access: { dms: "everyone", chats: ["*"], mention: "always" },
          people: [{ id: "2", name: "Maximiliane von Hohenzollern-Sigmaringen", token_env: "BOB_TOKEN" }],
          rooms: [
            { id: "general", name: "Announcements for customers with a premium contract" },
            { id: "operations", name: "Operations" },
          ],
        },
        hooks: [
          { id: HOOK, on: "message_received", execution: "background", run: { shell: { command: ["true"] } } },
          {
            id: NIGHTLY,
            trigger: { cron: "17 3 1-7 * MON-FRI", timezone: "UTC" },
            run: { shell: { command: ["true"] } },
          },
        ],
        sla: {
          after_start: "0s",
          policies: [{ id: POLICY, for: "task", target: "1s", warn_at: ["50%"] }],
        },
        alerts: {
          routes: { default: { to: ["web:web:operations"] } },
          rotas: {
            "customer-success-in-all-regions": {
              rotate: { people: ["Maximiliane"], from: "2020-01-06T09:00", every: "7d" },
            },
          },
          people: { Maximiliane: ["web:2"] },
        },
      },
    },
  );
  const said = async (line: string) => (await app.command(line)).data;
  await app.say("say hello to everybody");
  await app.say("say something personal");
  await app.say("when does the shop in Frankfurt open on the second of January?");
  const mission = await app.run(PLAN);
  const held = await until(async () => (await said("/outbox list held")).letters[0]?.id, "the held message");
  const clock = await until(async () => (await said("/sla list")).clocks[0]?.id, "the clock");
  const alert = await until(async () => (await said("/alerts")).alerts?.[0]?.id, "the alert");
  const task = await until(async () => (await said("/task list all")).tasks[0]?.id, "the task");
  await until(async () => (await said("/runs configured")).total > 0, "the run of the configured hook");
  const ids: Readonly<Record<string, string>> = {
    $HELD: held,
    $MISSION: mission,
    $CLOCK: clock,
    $ALERT: alert,
    $TASK: task,
    $ROW: "m1",
  };

  const lines = commandSpecs.flatMap(({ name, options }) => {
    const actions = options.find((one) => one.name === "action")?.choices ?? [""];
    return actions.flatMap((action) => {
      const head = `${name} ${action}`.trim();
      return (ARGUMENTS[head] ?? [""]).map((rest) =>
        `/${head} ${rest}`.trim().replace(/\$[A-Z]+/, (id) => ids[id] ?? id),
      );
    });
  });
  const tooLong: string[] = [];
  let blocks = 0;
  for (const line of lines) {
    await app.say(line);
    const answer = await until(async () => {
      const messages = (await app.room()) as unknown as Posted[];
      const own = messages.findLast(({ text }) => text === line);
      return own && messages.find(({ replyToId, html }) => replyToId === own.id && html !== "");
    }, `the answer to ${line}`);
    const { html, card } = answer;
    const shown = [html, card?.html ?? "", ...(card?.fields ?? []).map((field) => field.html)].join("\n");
    for (const [, language, body = ""] of shown.matchAll(
      /<pre><code(?: class="language-(\w+)")?>([\s\S]*?)<\/code>/g,
    )) {
      blocks++;
      // A payload is what it is.
      if (language === "json") continue;
      for (const row of body.replaceAll(/&\w+;/g, "&").split("\n"))
        if ([...row].length > CHAT_WIDTH) tooLong.push(`${line}: ${[...row].length} ${row}`);
    }
  }
  expect(blocks).toBeGreaterThan(10);
  expect(tooLong).toEqual([]);
});
