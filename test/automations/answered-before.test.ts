/** Hooks at `inbound_claim` whose condition only commands of Hookgate fit, which are answered before. */
import { expect, it } from "vitest";
import { OWNER, runApp } from "../http/running-app.js";
import { afterTest } from "../support/clean-up.js";

const NEVER = {
  whole: 'payload.message.text.matches("^/status$")',
  word: 'payload.message.isDm && payload.message.text.matches("^/help\\\\b")',
  some: 'payload.message.text.matches("^/(status|hooks)( .*)?$")',
  plain: 'payload.message.text.matches("^/(?:status|hooks)(?:\\\\s|$)")',
  listed: 'payload.message.text.matches("^(/status|/hooks)$") || payload.message.text.matches("^/help$|^/task( |$)")',
  letters: 'payload.message.text.matches("(?i)^/STATUS")',
  loud: 'payload.message.text == "/STATUS"',
  lower: 'payload.message.text.lowerAscii().startsWith("/status")',
  telegram: 'payload.message.text.matches("^/fire_hook")',
  each: 'payload.message.text in ["/help", "/status"]',
};
const REACHED = {
  deploy: 'payload.message.text.matches("^/(deploy|help)")',
  longer: 'payload.message.text.matches("^/help(desk|er)?$")',
  letter: 'payload.message.text.matches("^/helps?$")',
  tail: 'payload.message.text.matches("^/status[a-z]")',
  dashed: 'payload.message.text.matches("^/help-me$")',
  within: 'payload.message.text.matches("/status")',
  line: 'payload.message.text.matches("(?m)^/status")',
  maybe: 'payload.message.text.matches("^/?status$")',
  other: 'payload.message.text.matches("^/status$|^status$")',
  blank: 'payload.message.text.matches("^/help ?desk$")',
};

it("is a problem, and /hooks why tells that they would not run; what other messages fit is none", async () => {
  const hooks = Object.entries({ ...NEVER, ...REACHED, either: 'payload.message.text in ["/help", "help"]' });
  const app = await runApp({
    hooks: hooks.map(([id, when]) => ({
      id,
      on: "inbound_claim",
      match: { when },
      run: { shell: { command: ["/bin/true"] } },
    })),
  });
  afterTest(() => app.close());
  const asked = async (line: string) => {
    const { text, card } = (await app.call(OWNER, "POST", "/api/command", { line })).body;
    return `${text} ${JSON.stringify(card ?? {})}`.replaceAll("\\", "");
  };
  const broken = `${await asked("/hooks broken")} ${await asked("/hooks broken page=2")}`;
  const problem = (id: string) =>
    new RegExp(`hook ${id}: match\\.when: /[a-z-]+ (is a command|and /[a-z-]+ are commands) of Hookgate`);
  for (const id of Object.keys(NEVER)) {
    expect(broken, id).toMatch(problem(id));
    const why = await asked(`/hooks why ${id}`);
    expect(why, id).toMatch(/would \*\*not\*\* run/);
    expect(why, id).toMatch(/✗ match\.when: \/[a-z-]+ (is a command|and \/[a-z-]+ are commands) of Hookgate/);
  }
  for (const id of Object.keys(REACHED)) {
    expect(broken, id).not.toMatch(problem(id));
    expect(await asked(`/hooks why ${id}`), id).toContain(`\`${id}\` would run`);
  }
  expect(broken).toMatch(problem("either"));
  expect(await asked("/hooks why either")).toContain("`either` would run");
});
