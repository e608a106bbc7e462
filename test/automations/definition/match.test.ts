/** Every field of `match` with everything that starts hooks: it works there, or `hookgate check` refuses it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { examine } from "../../../src/cli/examine.js";
import { formatProblem, loadConfig } from "../../../src/config/load.js";
import { EVENT_SECRET, type Product, startProduct } from "../product.js";

const run = { shell: { command: ["true"] } };

/** A value for each field, and the part of a payload that it matches. */
const FIELDS = {
  tools: [["git.*"], { toolName: "git_push" }],
  agents: [["deployer"], { agentId: "deployer" }],
  crews: [["red"], { crewId: "red" }],
  severities: [["high"], { severity: "HIGH" }],
  platforms: [["web"], { platform: "web" }],
  chats: [["general"], { chatId: "general" }],
  users: [["7"], { userId: "7" }],
  hooks: [["event-tools"], { hookId: "event-tools" }],
  watches: [["event-tools"], { watchId: "event-tools" }],
  when: ["payload.n == 1", { n: 1 }],
  access: ["any", {}],
} as const;
type Field = keyof typeof FIELDS;

const TRIGGERS = {
  every: { every: "1h" },
  cron: { cron: "0 3 * * *" },
  at: { at: "2099-01-01T00:00:00Z" },
  manual: "manual",
  files: { files: { paths: "./in", debounce: "50ms" } },
  event: { event: "deploy" },
} as const;
type Kind = keyof typeof TRIGGERS;

/** What is refused, in words; any other pair works. */
function refusal(kind: Kind, field: Field): RegExp | undefined {
  if (kind === "event") return field === "access" ? /no sender who may be denied causes event:deploy/ : undefined;
  if (kind !== "files") return /starts a hook with trigger .*there is nothing to match.*remove `match`.*skip_if/;
  if (field === "when") return undefined;
  if (field === "access") return /no sender who may be denied causes file\.changed/;
  return field === "watches" ? /is started by its own files only/ : /no payload of file\.changed carries/;
}

const PAIRS = (Object.keys(TRIGGERS) as Kind[]).flatMap((kind) =>
  (Object.keys(FIELDS) as Field[]).map((field) => ({ kind, field, refused: refusal(kind, field) })),
);
const hookOf = ({ kind, field }: { kind: Kind; field: Field }) => ({
  id: `${kind}-${field}`,
  trigger: TRIGGERS[kind],
  // No payload of files has an `n`.
  match: { [field]: kind === "files" && field === "when" ? 'payload.path.endsWith(".csv")' : FIELDS[field][0] },
  run,
});

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-match-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function checked(hooks: readonly object[]): Promise<string[]> {
  const config = { events: { deploy: { secret_env: "EVENT_SECRET" } }, hooks };
  mkdirSync(join(folder, "in"), { recursive: true });
  writeFileSync(join(folder, "hookgate.yaml"), JSON.stringify(config));
  const env = { PATH: process.env.PATH ?? "", HOOKGATE_TOKEN: "the-token-of-the-owner-0001", EVENT_SECRET };
  return (await examine(loadConfig({ path: join(folder, "hookgate.yaml"), env }))).map(formatProblem);
}

describe("hookgate check", () => {
  test("refuses each field that what starts the hook does not look at, and accepts each that it does", async () => {
    const problems = await checked(PAIRS.map(hookOf));
    for (const { kind, field, refused } of PAIRS) {
      const own = problems.filter((text) => text.includes(`hook ${kind}-${field}:`));
      expect(own, `${kind} ${field}`).toEqual(
        refused === undefined ? [] : [expect.stringMatching(new RegExp(`match\\.${field}: .*${refused.source}`))],
      );
    }
    expect(problems).toHaveLength(PAIRS.filter(({ refused }) => refused !== undefined).length);
  });

  test("accepts what changes nothing: an empty match, the default access, and the watch of the hook itself", async () => {
    const hooks = [
      { id: "a", trigger: "manual", match: {}, run },
      { id: "b", trigger: TRIGGERS.event, match: { access: "allowed", when: "payload.n == 1" }, run },
      { id: "c", trigger: TRIGGERS.files, match: { watches: ["c"] }, run },
    ];
    expect(await checked(hooks)).toEqual([]);
  });
});

describe("what check accepts", { timeout: 60_000 }, () => {
  const works = PAIRS.filter(({ refused }) => refused === undefined);
  let product: Product;
  beforeAll(async () => {
    product = await startProduct({ hooks: works.map(hookOf) }, {}, (at) => {
      for (const name of ["in", "hooks", "beside", "far"]) mkdirSync(join(at, name));
      const paths = ["../beside/**/*.csv", join(at, "far/*.csv")];
      const hook = { id: "elsewhere", trigger: { files: { paths, debounce: "50ms" } }, run };
      writeFileSync(join(at, "hooks/elsewhere.yaml"), JSON.stringify(hook));
    });
  });
  afterAll(() => product.close());

  test("starts the hook for what matches, and for nothing else; files may lie outside of the folder of the hook", async () => {
    await product.event({ toolName: "x", agentId: "x", crewId: "x", severity: "x", platform: "x", chatId: "x", n: 2 });
    await product.event(Object.assign({}, ...Object.values(FIELDS).map(([, part]) => part)));
    writeFileSync(join(product.folder, "in/other.txt"), "x");
    writeFileSync(join(product.folder, "in/rows.csv"), "x");
    for (const pair of works) await product.ended(hookOf(pair).id);
    for (const [index, name] of ["beside/a.txt", "beside/a.csv", "far/b.csv"].entries()) {
      writeFileSync(join(product.folder, name), "x");
      if (index > 0) await product.ended("elsewhere", index);
    }
    expect(product.runs("elsewhere")).toHaveLength(2);
    expect(works.map((pair) => product.runs(hookOf(pair).id).length)).toEqual(works.map(() => 1));
  });

  test("starts the hook for an event whose body has a field access of its own", async () => {
    const before = product.runs("event-when").length;
    await product.event({ n: 1, access: "denied" });
    expect(await product.ended("event-when", before + 1)).toHaveLength(before + 1);
  });
});
