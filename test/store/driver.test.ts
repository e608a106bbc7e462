import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { chooseDriver, openSqlite, SUPPORTED_NODE } from "../../src/store/driver.js";

const requireJson = createRequire(import.meta.url);

describe("the SQLite driver", () => {
  it.each([
    ["20.19.0", "9", "better-sqlite3-node20"],
    ["20.20.2", "9", "better-sqlite3-node20"],
    ["22.14.0", "10", "better-sqlite3"],
    ["24.21.0", "10", "better-sqlite3"],
    ["26.10.0", "10", "better-sqlite3"],
  ])("of Node %s (Node-API %s) is %s", (node, napi, name) => {
    expect(chooseDriver({ node, napi })).toBe(name);
  });

  it.each([
    ["18.20.0", "9"],
    ["20.18.3", "9"],
    ["21.7.3", "9"],
    ["22.13.1", "9"],
    ["24.0.0", undefined],
  ])("does not exist for Node %s: the error names the versions that work", (node, napi) => {
    expect(() => chooseDriver({ node, napi })).toThrow(
      expect.objectContaining({
        code: "NODE_UNSUPPORTED",
        message: expect.stringContaining(node),
        hint: expect.stringContaining("24"),
      }),
    );
  });

  it("opens a database on the Node that runs this test", () => {
    const database = openSqlite(":memory:");
    expect(database.prepare<[], { two: number }>("SELECT 1 + 1 AS two").get()?.two).toBe(2);
    database.close();
  });
});

describe("the installation", () => {
  const manifest = requireJson("../../package.json");
  const { packages } = requireJson("../../package-lock.json");

  it("states the supported Node versions once", () => {
    expect(manifest.engines.node).toBe(SUPPORTED_NODE);
    expect(packages[""].engines.node).toBe(SUPPORTED_NODE);
  });

  // npm skips an optional package whose engines do not fit. The alias's own engines are wider: `npm install` may write them back.
  it("compiles the driver for Node 20 on Node 20 only, and downloads the other one only where it runs", () => {
    expect(packages["node_modules/better-sqlite3-node20"]).toMatchObject({
      version: "12.11.1",
      optional: true,
      engines: { node: "20.x" },
    });
    expect(packages["node_modules/better-sqlite3"]).toMatchObject({
      version: "13.2.0",
      optional: true,
      engines: { node: ">=22" },
    });
  });
});
