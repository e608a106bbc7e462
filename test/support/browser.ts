/**
 * The browser that the page is tested in: the one that is installed, else the Chromium for Linux x64 that comes with the development
 * dependencies, unpacked once per installation.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import type { LaunchOptions } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const MODULES = resolve(import.meta.dirname, "../../node_modules");
const UNPACKED = join(MODULES, ".cache/hookgate-chromium");
/** Chromium ends at the first text when it finds no font at all, and the package's own configuration names folders that are not here. */
const FONTS = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(UNPACKED, "fonts/fonts")}</dir>
  <dir>${join(MODULES, "dejavu-fonts-ttf/ttf")}</dir>
  <cachedir>${join(UNPACKED, "fonts-cache")}</cachedir>
</fontconfig>
`;

/** What `chromium.launch` of Playwright needs. Throws with the name of a browser to install where there is none and none comes with npm. */
export function browserOptions(path = process.env.PATH ?? ""): Pick<LaunchOptions, "executablePath" | "env"> {
  const installed = installedBrowser(path);
  if (installed !== undefined) return { executablePath: installed };
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error(
      `No browser is installed (looked for ${NAMES.join(", ")}). Install Chromium or Google Chrome; npm brings one for Linux x64 only.`,
    );
  if (!existsSync(UNPACKED)) unpack();
  return {
    executablePath: join(UNPACKED, "chromium"),
    env: {
      ...process.env,
      // Libraries and fonts that a bare system lacks; the browser finds its own software renderer beside itself.
      LD_LIBRARY_PATH: [join(UNPACKED, "al2023/lib"), process.env.LD_LIBRARY_PATH].filter(Boolean).join(":"),
      FONTCONFIG_PATH: UNPACKED,
    },
  };
}

export function installedBrowser(path: string): string | undefined {
  const folders = path === "" ? [] : path.split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((file) => existsSync(file));
}

/** The package unpacks into the folder for temporary files, so it gets one of its own; two test processes may unpack at once. */
function unpack(): void {
  mkdirSync(resolve(UNPACKED, ".."), { recursive: true });
  const folder = mkdtempSync(`${UNPACKED}-`);
  const script = `
    import { dirname, join } from "node:path";
    import { fileURLToPath } from "node:url";
    import chromium, { inflate } from "@sparticuz/chromium";
    await chromium.executablePath();
    await inflate(join(dirname(fileURLToPath(import.meta.resolve("@sparticuz/chromium"))), "../../bin/al2023.tar.br"));`;
  execFileSync(process.execPath, ["--input-type=module", "-e", script], {
    cwd: resolve(import.meta.dirname, "../.."),
    env: { ...process.env, TMPDIR: folder },
    stdio: ["ignore", "inherit", "inherit"],
  });
  writeFileSync(join(folder, "fonts.conf"), FONTS);
  try {
    renameSync(folder, UNPACKED);
  } catch (error) {
    if (!existsSync(UNPACKED)) throw error;
    rmSync(folder, { recursive: true, force: true });
  }
}
