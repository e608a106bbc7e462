/** The compiled code that the build keeps beside the product's chunks: used when it is good, passed over when it is not. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gatewayProcess } from "../support/gateway-process.js";

const ROOT = resolve(import.meta.dirname, "../..");

interface Chunk {
  name: string;
  isFromCode: boolean;
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-kept-"));
  writeFileSync(join(folder, "hookgate.yaml"), "{}\n");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the code that the build keeps", () => {
  it("is what a command of the built product runs, chunk by chunk", async () => {
    const chunks = await chunksOf(ROOT, "check");
    expect(chunks.length).toBeGreaterThan(10);
    expect(chunks.filter(({ isFromCode }) => !isFromCode)).toEqual([]);
  });

  it("is passed over where it is missing, cut off, damaged, of another Node or of another text: the gateway starts, with its plugins", async () => {
    const copy = copyOfProduct(join(folder, "copy"));
    // Of another place.
    expect((await chunksOf(copy, "check")).filter(({ isFromCode }) => isFromCode)).toEqual([]);
    await keepIn(copy, "check");
    expect((await chunksOf(copy, "check")).filter(({ isFromCode }) => !isFromCode)).toEqual([]);

    const dist = join(copy, "dist/src");
    const kept = readdirSync(dist).filter((name) => name.endsWith(".cache"));
    for (const [index, name] of kept.entries()) damage(join(dist, name), DAMAGES[index % DAMAGES.length]);
    expect((await chunksOf(copy, "check")).filter(({ isFromCode }) => isFromCode)).toEqual([]);

    // Beside it, as a plugin finds the package that it was installed with.
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(copy, join(folder, "node_modules/hookgate"));
    writeFileSync(
      join(folder, "asks.mjs"),
      `import { definePlugin, HookgateError } from "hookgate";
      export default definePlugin({ id: "asks", setup({ hooks }) {
        try { hooks.registerVoid("no_such_point", () => {}); }
        catch (error) { process.stderr.write("its own error: " + (error instanceof HookgateError) + "\\n"); }
      } });`,
    );
    const gateway = await gatewayProcess({
      folder,
      config: { plugins: ["./asks.mjs"] },
      cli: join(copy, "dist/src/cli.js"),
    });
    try {
      await gateway.start();
      await gateway.ready();
      expect(gateway.output()).toContain("its own error: true");
    } finally {
      await gateway.kill();
    }
  });
});

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

function copyOfProduct(to: string): string {
  mkdirSync(to);
  cpSync(join(ROOT, "dist"), join(to, "dist"), { recursive: true });
  cpSync(join(ROOT, "package.json"), join(to, "package.json"));
  symlinkSync(join(ROOT, "node_modules"), join(to, "node_modules"));
  return to;
}

/** The chunks that a command of a built product ran. */
async function chunksOf(product: string, command: string): Promise<Chunk[]> {
  const tell = 'process.stdout.write("\\nchunks " + JSON.stringify(loadedChunks()))';
  const { stdout } = await run(
    product,
    command,
    `import { loadedChunks } from LOADER; process.on("exit", () => ${tell})`,
  );
  return JSON.parse(stdout.slice(stdout.lastIndexOf("\nchunks ") + "\nchunks ".length)) as Chunk[];
}

/** As the build does. */
async function keepIn(product: string, command: string): Promise<void> {
  await run(product, command, 'import { keepCode } from LOADER; process.on("exit", keepCode)');
}

function run(product: string, command: string, code: string) {
  const loader = JSON.stringify(pathToFileURL(join(product, "dist/src/loader.js")).href);
  const preload = `data:text/javascript,${encodeURIComponent(code.replace("LOADER", loader))}`;
  return promisify(execFile)(process.execPath, ["--import", preload, join(product, "dist/src/cli.js"), command], {
    cwd: folder,
    env: { PATH: process.env.PATH },
  });
}
