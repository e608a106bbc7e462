/** The package as npm installs it, in a folder without this repository's sources: what a start and its web chat need is in it. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, expect, it } from "vitest";
import { gatewayProcess, TOKEN } from "../support/gateway-process.js";

const ROOT = resolve(import.meta.dirname, "../..");
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Unpacked, with links to the dependencies that are installed here. */
function installPacked(folder: string): string {
  const options = { cwd: ROOT, encoding: "utf8" } as const;
  const said = execFileSync("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], options);
  const [{ filename }] = JSON.parse(said) as [{ filename: string }];
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "hookgate"), { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, filename), "-C", join(modules, "hookgate"), "--strip-components=1"]);
  for (const name of readdirSync(join(ROOT, "node_modules")))
    if (!name.startsWith(".")) symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  return join(modules, "hookgate");
}

/** Links of its pages to files that are not in it. */
function brokenLinks(product: string): string[] {
  const pages = readdirSync(product, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
  expect(pages).toContain("docs/architecture.md");
  return pages.flatMap((page) =>
    [...readFileSync(join(product, page), "utf8").matchAll(/\]\((?!https?:|#)([^)\s#]+)/g)]
      .map(([, to = ""]) => to)
      .filter((to) => !existsSync(resolve(product, dirname(page), to)))
      .map((to) => `${page}: ${to}`),
  );
}

it("starts, shows the page of its web chat, and loads an example by its name", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-package-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const product = installPacked(folder);
  const built = readdirSync(join(product, "dist"), { recursive: true, encoding: "utf8" });
  // What starts and builds keep for themselves.
  expect(built.filter((name) => /\.(cache|tsbuildinfo)$/.test(name))).toEqual([]);
  expect(brokenLinks(product)).toEqual([]);
  const gateway = await gatewayProcess({
    folder,
    config: { plugins: ["hookgate/examples/greeter"] },
    cli: join(product, "dist/src/cli.js"),
  });
  closers.push(() => gateway.kill());
  await gateway.start();
  await gateway.ready();
  const page = await fetch(gateway.url);
  expect([page.status, page.headers.get("content-type")]).toEqual([200, expect.stringContaining("text/html")]);
  const html = await page.text();
  const files = [...html.matchAll(/(?:src|href)="(\/?[\w./-]+)"/g)].map(([, path]) => path as string);
  expect(files.length).toBeGreaterThan(1);
  for (const path of files) expect([path, (await fetch(new URL(path, gateway.url))).status]).toEqual([path, 200]);
  const answer = await fetch(`${gateway.url}/api/command`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ line: "/hooks" }),
  });
  expect(JSON.stringify(await answer.json())).toContain("greeter");
});
