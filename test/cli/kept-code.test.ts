/** The compiled code that a start keeps beside the product's chunks: used when it is good, ignored and kept again when it is not. */
import { execFile } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GatewayProcess, gatewayProcess } from "../support/gateway-process.js";
import { until } from "../support/until.js";

const ROOT = resolve(import.meta.dirname, "../..");

let folder: string;
let product: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-kept-"));
  // As a plugin finds the package that it was installed with.
  product = join(folder, "node_modules/hookgate");
  cpSync(join(ROOT, "dist"), join(product, "dist"), { recursive: true, filter: (path) => !path.endsWith(".cache") });
  cpSync(join(ROOT, "package.json"), join(product, "package.json"));
  symlinkSync(join(ROOT, "node_modules"), join(product, "node_modules"));
  writeFileSync(
    join(folder, "asks.mjs"),
    `import { definePlugin, HookgateError } from "hookgate";
    export default definePlugin({ id: "asks", setup({ hooks }) {
      try { hooks.registerVoid("no_such_point", () => {}); }
      catch (error) { process.stderr.write("its own error: " + (error instanceof HookgateError) + "\\n"); }
    } });`,
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the compiled code of the product", () => {
  it("is kept by the first start of a copy, and used from then on", async () => {
    expect(await chunksWithCode()).toEqual([]);
    await startAndStop();
    expect(await chunksWithoutCode()).toEqual([]);
  });

  it("is ignored and kept again in another place", async () => {
    const moved = join(folder, "moved");
    renameSync(product, moved);
    symlinkSync(moved, product);
    expect(await chunksWithCode()).toEqual([]);
    await startAndStop();
    expect(await chunksWithoutCode()).toEqual([]);
  });

  it("is ignored and kept again where it is missing, cut off, damaged, of another Node or of another text", async () => {
    for (const [index, file] of keptFiles().entries()) damage(file, DAMAGES[index % DAMAGES.length]);
    expect(await chunksWithCode()).toEqual([]);
    await startAndStop();
    expect(await chunksWithoutCode()).toEqual([]);
  });

  it("is not needed where it cannot be written", async () => {
    for (const file of keptFiles()) {
      rmSync(file);
      mkdirSync(file);
    }
    await startAndStop();
    expect(await chunksWithCode()).toEqual([]);
  });
});

async function startAndStop(): Promise<void> {
  const gateway: GatewayProcess = await gatewayProcess({
    folder,
    config: { plugins: ["./asks.mjs"] },
    cli: join(product, "dist/src/cli.js"),
  });
  try {
    await gateway.start();
    await until(() => gateway.output().includes("  chat "), gateway.output);
    expect(await gateway.stop()).toBe(0);
    expect(gateway.output()).toContain("its own error: true");
    expect(gateway.output()).not.toContain("uncaught");
  } finally {
    await gateway.kill();
  }
}

const DAMAGES = ["missing", "empty", "cut off", "bits", "maker", "text"] as const;

function damage(file: string, kind: (typeof DAMAGES)[number] | undefined): void {
  if (kind === "missing") {
    rmSync(file);
    return;
  }
  const code = readFileSync(file);
  const flip = (at: number) => {
    code[at] = ~(code[at] ?? 0);
  };
  if (kind === "maker") flip(0);
  if (kind === "text") flip(4);
  if (kind === "bits") for (let at = 100; at < code.length; at += 97) flip(at);
  const length = kind === "empty" ? 0 : kind === "cut off" ? Math.floor(code.length / 2) : code.length;
  writeFileSync(file, code.subarray(0, length));
}

function keptFiles(): string[] {
  const dist = join(product, "dist/src");
  const files = readdirSync(dist).filter((name) => name.endsWith(".cache"));
  expect(files.length).toBeGreaterThan(30);
  return files.map((name) => join(dist, name));
}

async function chunksWithCode(): Promise<string[]> {
  return (await chunksOfCheck()).filter(({ isFromCode }) => isFromCode).map(({ name }) => name);
}

/** Of those that a start has loaded, too. */
async function chunksWithoutCode(): Promise<string[]> {
  const kept = new Set(keptFiles().map((file) => basename(file, ".cache")));
  const chunks = (await chunksOfCheck()).filter(({ name }) => kept.has(name));
  expect(chunks.length).toBeGreaterThan(10);
  return chunks.filter(({ isFromCode }) => !isFromCode).map(({ name }) => name);
}

/** The chunks that `hookgate check` ran, and whether V8 took the code that was kept. */
async function chunksOfCheck(): Promise<{ name: string; isFromCode: boolean }[]> {
  const observe = `import vm from "node:vm";
    import { syncBuiltinESMExports } from "node:module";
    const chunks = [];
    vm.Script = class extends vm.Script {
      constructor(text, options) {
        super(text, options);
        chunks.push({ name: options.filename.split("/").at(-1), isFromCode: this.cachedDataRejected === false });
      }
    };
    syncBuiltinESMExports();
    process.on("exit", () => process.stdout.write("\\nchunks " + JSON.stringify(chunks)));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", `data:text/javascript,${encodeURIComponent(observe)}`, join(product, "dist/src/cli.js"), "check"],
    { cwd: folder, env: { PATH: process.env.PATH } },
  );
  return JSON.parse(stdout.slice(stdout.lastIndexOf("\nchunks ") + "\nchunks ".length));
}
