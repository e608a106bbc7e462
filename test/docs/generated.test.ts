/** The generated documents say what the code says. `npm run docs` writes them anew. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { renderDocs } from "../../scripts/render-docs.js";
import { describeSettings } from "../../src/config/describe.js";
import { environment } from "../../src/config/env.js";
import { configSchema } from "../../src/config/schema.js";

const rendered = renderDocs();

describe("generated documents", () => {
  it.each(Object.keys(rendered))("%s is what `npm run docs` writes", (file) => {
    expect(
      existsSync(file) && readFileSync(file, "utf8") === rendered[file],
      `${file} is stale: run npm run docs`,
    ).toBe(true);
  });

  it("describes every setting in one line", () => {
    const settings = describeSettings(configSchema);
    expect(settings.length).toBeGreaterThan(60);
    expect(
      settings.filter(({ description }) => description === "" || description.includes("\n")).map(({ path }) => path),
    ).toEqual([]);
  });

  it("lists every setting in hookgate.yaml, and its defaults are the defaults", () => {
    const text = readFileSync("hookgate.yaml", "utf8");
    for (const { path } of describeSettings(configSchema)) expect(text).toContain(`${path.split(".").at(-1)}:`);
    const uncommented = text
      .split("\n")
      .slice(1)
      .map((line) => line.replace(/^##.*/, "").replace(/^# /, ""))
      .join("\n");
    const { plugins, ...rest } = configSchema.parse(parse(uncommented));
    expect({ ...rest, plugins: [] }).toEqual(configSchema.parse({}));
    expect(plugins.map(({ module }) => module)).toEqual([
      "./dist/examples/plugins/greeter.js",
      "./dist/examples/plugins/keyword-router.js",
    ]);
    expect(Object.keys(parse(text))).toEqual(["plugins"]);
  });

  it("lists every variable in .env.example, empty", () => {
    const names = readFileSync(".env.example", "utf8").match(/^[A-Z_]+(?==$)/gm);
    expect(names).toEqual(Object.keys(environment.shape));
  });
});
