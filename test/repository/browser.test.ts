import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { browserOptions } from "../support/browser.js";

const folder = mkdtempSync(join(tmpdir(), "hookgate-browser-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("the browser of the page tests", () => {
  it("is the installed one, wherever it is on the path", () => {
    const file = join(folder, "chromium");
    writeFileSync(file, "");
    chmodSync(file, 0o755);
    expect(browserOptions(["/nowhere", folder].join(delimiter))).toEqual({ executablePath: file });
  });

  it.runIf(process.platform === "linux" && process.arch === "x64")("comes with npm where none is installed", () => {
    const { executablePath, env } = browserOptions("");
    expect(executablePath).toMatch(/node_modules.*chromium$/);
    expect(env?.LD_LIBRARY_PATH).toMatch(/^.*node_modules/);
  });
});
