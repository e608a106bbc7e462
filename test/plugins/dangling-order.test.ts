/** A guard that names a hook of another plugin in `after` is in force whatever becomes of that hook, and what is wrong is listed: in the whole product. */
import { expect, test } from "vitest";
import { type LiveApp, liveApp, TOKEN } from "../automations/support/live-app.js";
import { runCli } from "../cli/run-cli.js";
import { until } from "../support/until.js";
import { listeningLogger, type PluginRig } from "./rig.js";

const echo = `export default { id: "echo", setup(api) {
  api.hooks.registerClaiming("inbound_claim", ({ message }) => ({ handled: true, reply: \`said \${message.text}\` })); } };\n`;
const footer = (name: string, at = "message_sending") => `export default { id: "footer", setup(api) {
  api.hooks.register({ hook: "${at}", id: "${name}", handler: () => null }); } };\n`;
const guard = (more = "") => `export default { id: "guard", setup(api) {
  api.hooks.registerModifying("message_sending", ({ message }) => message.text.includes("SECRET") ? { cancel: "secret" } : null,
    { id: "stop", after: ["footer.add"], failurePolicy: "fail-closed"${more} }); } };\n`;

const config = (...files: string[]) => `automations: { watch: false }\nplugins: [${files.join(", ")}]\n`;
const ALL = config("./echo.mjs", "./footer.mjs", "./guard.mjs");

const command = async (live: LiveApp, line: string) =>
  ((await live.post("/api/command", { line })) as unknown as { text: string }).text.replaceAll("\\", "");
async function status(live: LiveApp) {
  const { data } = (await live.post("/api/command", { line: "/status" })) as unknown as {
    data: { problems: string[] };
  };
  return data.problems.join("\n");
}
const WRONG =
  /guard\.mjs: Hook "guard\.stop" \S*( at message_sending)? is to run after "footer\.add", which is (not registered|at before_dispatch).*\. Correct the name, remove it, or put that hook back; until then this hook runs without that order/;
let said = 0;
async function expectGuarded(live: LiveApp) {
  const mark = `mark ${++said}`;
  await live.say(`SECRET ${said}`);
  await live.say(mark);
  await until(async () => (await live.room()).includes(`said ${mark}`), "the answer after the one that is kept back");
  expect((await live.room()).join("\n")).not.toContain("said SECRET");
}

const FILES = { "hookgate.yaml": ALL, "echo.mjs": echo, "footer.mjs": footer("add"), "guard.mjs": guard() };
/** A gateway that starts with these files, in a folder of its own: Node gives one process the first version of a module only. */
async function startedWith(files: Record<string, string>) {
  const logged: PluginRig["logged"] = [];
  return { live: await liveApp(files, { logger: listeningLogger(logged) }), logged };
}

test.each([
  ["whose plugin is removed", { "hookgate.yaml": config("./echo.mjs", "./guard.mjs") }],
  ["that is renamed", { "footer.mjs": footer("addd") }],
  ["that is put at another point", { "footer.mjs": footer("add", "before_dispatch") }],
])(
  "a guard that is to run after a hook %s stays in force, and is listed until the name is right",
  async (_what, change) => {
    const files = { ...FILES, "guard.mjs": guard(", critical: true") };
    const reloaded = await startedWith(files);
    await expectGuarded(reloaded.live);
    expect(await command(reloaded.live, "/hooks broken")).toBe("No configured hook is broken.");
    for (const [file, text] of Object.entries(change)) reloaded.live.write(file, text);
    const { problems } = await reloaded.live.app.reload(reloaded.live.read());
    expect(problems).toEqual([expect.stringMatching(WRONG)]);
    const started = await startedWith({ ...files, ...change });
    for (const [when, { live, logged }] of Object.entries({ reloaded, started })) {
      await expectGuarded(live);
      const plugin = live.app.plugins.find(({ id }) => id === "guard");
      expect(plugin, when).toMatchObject({ state: "loaded", reason: undefined });
      expect(await command(live, "/hooks broken"), when).toMatch(WRONG);
      expect(await status(live), when).toMatch(WRONG);
      expect(await command(live, "/hooks why guard.stop"), when).toMatch(
        /⚠ dependency: "footer\.add" is not registered at this point/,
      );
      expect(await command(live, "/hooks show guard.stop"), when).toMatch(/⚠ Hook "guard\.stop" .*"footer\.add"/);
      expect(await live.get("/readyz"), when).toMatchObject({ state: "degraded", configuration: { problems: 1 } });
      const errors = logged.filter(({ level, message }) => level === "error" && WRONG.test(message));
      expect(errors, when).toHaveLength(1);
    }
    const { live } = reloaded;
    for (const name of ["check", "doctor"]) {
      const { out, err } = await runCli([name], { cwd: live.folder, env: { HOOKGATE_TOKEN: TOKEN } });
      expect(out + err, name).toMatch(WRONG);
    }
    for (const [file, text] of Object.entries(files)) live.write(file, text);
    await live.app.reload(live.read());
    expect(await command(live, "/hooks broken")).toBe("No configured hook is broken.");
  },
);

test("a guard that is to run after a hook of a plugin that was saved with an error is in force after a start", async () => {
  const { live } = await startedWith({ ...FILES, "footer.mjs": "export default {" });
  await expectGuarded(live);
  expect(live.app.plugins.map(({ state }) => state)).toEqual(["loaded", "broken", "loaded"]);
  expect(await status(live)).toMatch(/footer\.mjs: .*\n.*guard\.mjs: Hook "guard\.stop" .*"footer\.add"/);
  live.write("footer.mjs", footer("add"));
  await live.app.reload(live.read());
  expect(await command(live, "/hooks broken")).toBe("No configured hook is broken.");
});

test("a saved plugin that leaves the name of another one dangling is logged, and so is the name while its own plugin is broken", async () => {
  const { live, logged } = await startedWith(FILES);
  live.write("footer.mjs", footer("add").replace('id: "footer"', 'id: "feet"'));
  const isLogged = () =>
    logged.some(({ level, message }) => level === "warn" && /"footer\.add", which is not/.test(message));
  await until(async () => isLogged(), "the problem in the log");
  live.write("guard.mjs", "export default {");
  await until(
    async () => /guard\.mjs: the new version failed/.test(await status(live)),
    "the broken version in /status",
  );
  expect(await status(live)).toMatch(/Hook "guard\.stop" .*"footer\.add"/);
  await expectGuarded(live);
});

test("a hook of a plugin may name a hook of a file, which is there later", async () => {
  const hook = '- { id: first, on: message_sending, run: { shell: { command: ["true"] } } }\n';
  const live = await liveApp({
    "hookgate.yaml": config("./echo.mjs", "./guard.mjs"),
    "hooks/a.yaml": hook,
    "echo.mjs": echo,
    "guard.mjs": guard().replace("footer.add", "first"),
  });
  await expectGuarded(live);
  expect(await command(live, "/hooks broken")).toBe("No configured hook is broken.");
  live.write("hooks/a.yaml", hook.replace("run:", "rnu:"));
  await live.stop();
  await live.start().catch(() => {}); // the broken hook of the file
  expect(await status(live)).toContain(
    'Hook "guard.stop" (guard.mjs:2:13) is to run after "first", which is broken. Fix "first"; until',
  );
  await expectGuarded(live);
});
