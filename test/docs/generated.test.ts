/** The generated documents say what the code says. `npm run docs` writes them anew. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { renderDocs } from "../../scripts/render-docs.js";
import { describeSettings } from "../../src/config/describe.js";
import { environment } from "../../src/config/env.js";
import { configSchema } from "../../src/config/schema.js";
import { catalogue } from "../../src/hooks/catalogue/index.js";
import { endpoints } from "../../src/http/api/index.js";
import { routeTable } from "../../src/http/routes/index.js";

const rendered = renderDocs();

const fieldsOf = (schema: z.ZodType | undefined) =>
  schema === undefined
    ? []
    : Object.entries(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }).properties ?? {}).map(
        ([name, one]) => [name, typeof one === "object" ? (one.description ?? "") : ""] as const,
      );

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

  it("has entries that are sentences and mean something on their own", () => {
    const entries = [
      ...describeSettings(configSchema).map(({ path, description }) => [path, description]),
      ...catalogue.map(({ name, summary }) => [name, summary]),
      ...routeTable.map(({ method, path, summary }) => [`${method} ${path}`, summary]),
      ...endpoints.flatMap(({ id, schemas: { params, query, body } }) =>
        [params, query, body].flatMap((schema) => fieldsOf(schema).map(([name, text]) => [`${id} ${name}`, text])),
      ),
    ];
    expect(entries.length).toBeGreaterThan(300);
    const isSentence = (text: string) =>
      /^[A-Z`\d]/.test(text) &&
      /\.$/.test(text) &&
      text.split(" ").length > 3 &&
      !/^(?:Its?|They|Or|So|And|These) /.test(text);
    expect(entries.filter(([, text = ""]) => !isSentence(text))).toEqual([]);
  });

  it("groups the entries of a page under headings", () => {
    for (const page of ["hook-points", "commands", "configuration", "http-api"]) {
      const sections = (rendered[`docs/${page}.md`] ?? "").split(/^#+ /m);
      expect(sections.length).toBeGreaterThan(8);
      const rows = sections.map((section) => section.split("\n").filter((line) => line.startsWith("| `")).length);
      expect(Math.max(...rows)).toBeLessThan(80);
    }
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
      "hookgate/examples/greeter",
      "hookgate/examples/keyword-router",
    ]);
    expect(Object.keys(parse(text))).toEqual(["plugins"]);
  });

  it("lists every variable in .env.example, empty", () => {
    const names = readFileSync(".env.example", "utf8").match(/^[A-Z_]+(?==$)/gm);
    expect(names).toEqual(Object.keys(environment.shape));
  });
});
