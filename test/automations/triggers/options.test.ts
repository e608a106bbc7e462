import { describe, expect, it } from "vitest";
import { triggerOptions } from "../../../src/automations/triggers/index.js";

const problems = (value: unknown) =>
  triggerOptions.safeParse(value).error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);

describe("the settings under trigger:", () => {
  it("understands each kind and fills in what is left out", () => {
    expect(triggerOptions.parse("manual")).toEqual({ kind: "manual" });
    expect(triggerOptions.parse({ every: "5m" })).toEqual({ kind: "every", everyMs: 300_000, catchUp: true });
    expect(triggerOptions.parse({ cron: "0 9 * * MON-FRI", timezone: "Europe/Berlin", catch_up: false })).toEqual({
      kind: "cron",
      cron: "0 9 * * MON-FRI",
      timezone: "Europe/Berlin",
      catchUp: false,
    });
    expect(triggerOptions.parse({ event: "deploy" })).toEqual({ kind: "event", event: "deploy" });
    expect(triggerOptions.parse({ files: { paths: "src/**/*.ts" } })).toEqual({
      kind: "files",
      paths: ["src/**/*.ts"],
      ignore: ["**/.git/**", "**/node_modules/**"],
      operations: ["created", "modified", "deleted"],
      debounceMs: 500,
      as: "file",
    });
  });

  it("reads a one-shot with an offset, in UTC, or as local time of a zone", () => {
    const at = Date.UTC(2026, 11, 24, 17, 0);
    for (const options of [
      { at: "2026-12-24T18:00:00+01:00" },
      { at: "2026-12-24T17:00Z" },
      { at: "2026-12-24 18:00", timezone: "Europe/Berlin" },
    ])
      expect(triggerOptions.parse(options)).toEqual({ kind: "at", at, catchUp: true });
  });

  it("says what is wrong and where", () => {
    expect(problems({ every: "soon" })).toEqual(['every: expected a duration such as 10s, 5m or 1h30m, got "soon"']);
    expect(problems({ every: "10ms" })).toEqual(["every: expected one second or more"]);
    expect(problems({ cron: "0 25 * * *" })?.[0]).toMatch(/^cron: "0 25 \* \* \*" is no cron expression: /);
    expect(problems({ cron: "0 0 30 2 *" })).toEqual(['cron: "0 0 30 2 *" never comes']);
    expect(problems({ cron: "@daily", timezone: "Europe/Belin" })).toEqual([
      'timezone: there is no time zone "Europe/Belin" (did you mean "Europe/Berlin"?)',
    ]);
    expect(problems({ at: "tomorrow" })?.[0]).toMatch(/^at: expected a date and time/);
    expect(problems({ at: "2026-02-31T10:00", timezone: "UTC" })?.[0]).toMatch(/^at: expected a date and time/);
    expect(problems({ at: "2026-02-31T10:00Z" })?.[0]).toMatch(/^at: expected a date and time/);
    expect(problems({ files: { paths: ["src/[a"] } })?.[0]).toMatch(/^files.paths/);
    expect(problems({ files: { paths: ["a"], as: "tree" } })?.[0]).toMatch(/^files.as: /);
    expect(problems({ every: "5m", jitter: "1s" })?.[0]).toMatch(/jitter/);
  });

  it("wants exactly one kind, and suggests the nearest", () => {
    expect(problems({ every: "5m", cron: "@daily" })).toEqual([
      ": every and cron cannot be used together: expected manual, or one of every, cron, at, event, files",
    ]);
    expect(problems({ evry: "5m" })).toEqual([
      ': expected manual, or one of every, cron, at, event, files (did you mean "every"?)',
    ]);
    expect(problems("sometimes")).toEqual([": expected manual, or one of every, cron, at, event, files"]);
  });
});
