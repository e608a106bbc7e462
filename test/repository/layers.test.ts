/** The direction of imports, as docs/architecture.md draws it: downward only, no cycles, type imports included. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");

/** Beside each other, above the gateway: none of them imports another; what one needs of another comes through app.ts. */
const PARTS = ["src/alerts", "src/automations", "src/orchestrator", "src/plugins"];
const EVERY_PART = [
  "adapters",
  ...PARTS,
  "src/agent",
  "src/domain",
  "src/gateway",
  "src/hooks",
  "src/http",
  "src/lib",
  "src/pending",
  "src/store",
];

/** What a layer may import besides itself. `types` may be imported with `import type` only. */
const LAYERS: Record<string, { from: string[]; types?: string[] }> = {
  "src/lib": { from: [] },
  "src/domain": { from: ["src/lib"] },
  "src/fast": { from: ["src/domain", "src/lib"] },
  "src/hooks": { from: ["src/fast", "src/domain", "src/lib"] },
  "src/store": { from: ["src/fast", "src/domain", "src/lib"] },
  "src/pending": { from: ["src/domain", "src/lib"] },
  "src/charts": { from: ["src/domain", "src/lib"] },
  "src/gateway": { from: ["src/hooks", "src/pending", "src/fast", "src/domain", "src/lib"] },
  "src/agent": { from: ["src/domain", "src/lib"] },
  "src/plugins": { from: ["src/gateway", "src/hooks", "src/domain", "src/lib"] },
  "src/automations": { from: ["src/agent", "src/gateway", "src/hooks", "src/pending", "src/domain", "src/lib"] },
  "src/orchestrator": { from: ["src/agent", "src/gateway", "src/hooks", "src/pending", "src/domain", "src/lib"] },
  "src/alerts": { from: ["src/gateway", "src/hooks", "src/domain", "src/lib"] },
  "src/http": {
    from: ["src/gateway", "src/hooks", "src/domain", "src/lib"],
    types: ["adapters", "src/alerts", "src/automations", "src/orchestrator"],
  },
  commands: {
    from: ["src/charts", "src/domain", "src/lib", "src/gateway/commands.ts"],
    types: [...PARTS, "src/gateway", "src/hooks"],
  },
  adapters: { from: ["src/fast", "src/domain", "src/lib"] },
  "src/config": { from: EVERY_PART },
  "src/index.ts": { from: ["src/plugins", "src/hooks", "src/fast", "src/domain", "src/lib"] },
  "src/app.ts": { from: [...EVERY_PART, "commands", "src/app", "src/config"] },
  "src/app": { from: [...EVERY_PART, "commands", "src/config"] },
  "src/cli": {
    from: [
      ...PARTS,
      "commands",
      "src/app",
      "src/app.ts",
      "src/config",
      "src/domain",
      "src/hooks",
      "src/lib",
      "src/loader.ts",
      "src/store",
    ],
    types: ["src/gateway"],
  },
  // Runs what all others were built to.
  "src/loader.ts": { from: [] },
  "src/cli.ts": { from: ["src/cli", "src/app.ts", "src/config", "src/lib"] },
  examples: { from: ["src/index.ts"] },
};

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
}

const files = ["src", "adapters", "commands", "examples"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.ts$/.test(name))
    .map((name) => join(folder, name)),
);
const imports = files.flatMap(importsOf);

function importsOf(file: string): Import[] {
  const source = readFileSync(join(ROOT, file), "utf8");
  return [...source.matchAll(/^\s*(?:import|export)\s+(type\s)?(?:[^"';]*?\sfrom\s+)?"(\.[^"]+)"/gm)].map(
    ([, type, target]) => ({
      from: file,
      to: relative(ROOT, resolve(ROOT, dirname(file), target as string)).replace(/\.js$/, ".ts"),
      typeOnly: type !== undefined,
    }),
  );
}

/** The most exact layer that holds the file. */
function layerOf(file: string): string | undefined {
  return Object.keys(LAYERS)
    .filter((layer) => file === layer || file.startsWith(`${layer}/`))
    .sort((a, b) => b.length - a.length)[0];
}

const within = (file: string, places: string[]) =>
  places.some((place) => file === place || file.startsWith(`${place}/`));

describe("layers", () => {
  it("finds the product's files and their imports", () => {
    expect(files.length).toBeGreaterThan(60);
    expect(imports.length).toBeGreaterThan(200);
  });

  it("gives every file a layer", () => {
    expect(files.filter((file) => layerOf(file) === undefined)).toEqual([]);
  });

  it("imports downward only", () => {
    const wrong = imports.filter(({ from, to, typeOnly }) => {
      const layer = layerOf(from);
      if (layer === undefined || layerOf(to) === layer) return false;
      const rule = LAYERS[layer] as { from: string[]; types?: string[] };
      return !within(to, rule.from) && !(typeOnly && within(to, rule.types ?? []));
    });
    expect(wrong.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  it("has no import cycles, type imports included", () => {
    const graph = new Map<string, string[]>();
    for (const { from, to } of imports) graph.set(from, [...(graph.get(from) ?? []), to]);
    expect(findCycles(graph)).toEqual([]);
  });

  it("keeps platform names out of the commands", () => {
    const named = files.filter(
      (file) => file.startsWith("commands/") && /\b(discord|telegram)\b/i.test(readFileSync(join(ROOT, file), "utf8")),
    );
    expect(named).toEqual([]);
  });

  it("loads the SQLite driver in one place only, tests included: another one may not be installed for this Node", () => {
    const tests = ["test", "bench"].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
        .filter((name) => /\.ts$/.test(name))
        .map((name) => join(folder, name)),
    );
    const loading = [...files, ...tests].filter((file) =>
      /^import (?!type\b).* from "better-sqlite3/m.test(readFileSync(join(ROOT, file), "utf8")),
    );
    expect(loading).toEqual([]);
  });

  it("reads the environment in one place only", () => {
    const readers = files.filter(
      (file) => file !== "src/config/env.ts" && /\bprocess\.env\b/.test(readFileSync(join(ROOT, file), "utf8")),
    );
    expect(readers).toEqual([]);
  });
});

function findCycles(graph: Map<string, string[]>): string[] {
  const cycles: string[] = [];
  const state = new Map<string, "open" | "done">();
  const visit = (file: string, trail: string[]): void => {
    if (state.get(file) === "done") return;
    if (state.get(file) === "open") {
      cycles.push([...trail.slice(trail.indexOf(file)), file].join(" → "));
      return;
    }
    state.set(file, "open");
    for (const next of graph.get(file) ?? []) visit(next, [...trail, file]);
    state.set(file, "done");
  };
  for (const file of graph.keys()) visit(file, []);
  return cycles;
}
