/** What leaves the process has no secrets in it: known ones, and whatever looks like a platform's token. */
import { describe, expect, it } from "vitest";
import { sameSecret, secretMask } from "../../src/lib/signing/secret.js";

describe("the mask", () => {
  it("takes out known secrets wherever they stand, in JSON too, and leaves the rest as it was", () => {
    const secret = 'a "quoted\\secret" of theirs';
    const mask = secretMask([undefined, "abc", secret]);
    expect(mask(`before ${secret} after`)).toBe("before [secret] after");
    expect(mask(JSON.stringify({ secret, other: "abc" }))).toBe('{"secret":"[secret]","other":"abc"}');
  });

  it("takes out each line of a secret by itself, and what an address has of it", () => {
    const key = "-----BEGIN KEY-----\nMIIEabcdefghijklmnop1234\r\n  QRSTuvwx\nshort\n-----END KEY-----\n";
    const mask = secretMask([key, "p@ss/w0rd"]);
    expect(mask(`all: ${key}.`)).toBe("all: [secret].");
    expect(mask(key.split(/\s+/).join(" "))).toBe("[secret] [secret] [secret] short [secret] ");
    expect(mask(key.replaceAll(/^/gm, "> "))).not.toMatch(/BEGIN|MII|QRST/);
    expect(mask("postgres://ann:p%40ss%2Fw0rd@db/short")).toBe("postgres://ann:[secret]@db/short");
  });

  it("leaves short words and numbers, which stand in ordinary text", () => {
    const mask = secretMask(["test", "Secret", "123456", "p4ss", "hunter2", "password1"]);
    expect(mask("the test of a Secret on 123456 with p4ss, hunter2 and password1")).toBe(
      "the test of a Secret on 123456 with [secret], [secret] and [secret]",
    );
  });

  it("takes out one that became known later", () => {
    const secrets = ["the-first-one"];
    const mask = secretMask(secrets);
    secrets.push("the-second-one");
    expect(mask("the-first-one the-second-one")).toBe("[secret] [secret]");
  });

  it("takes out what looks like a token of Discord or Telegram, also in an address", () => {
    const mask = secretMask([]);
    const discord = `MTExMTExMTExMTExMTExMTEx.GfakeX.${"t".repeat(38)}`;
    const telegram = `7654321:AA${"T".repeat(33)}`;
    expect(mask(`with ${discord} to https://api.telegram.org/bot${telegram}/getMe`)).toBe(
      "with [secret] to https://api.telegram.org/bot[secret]/getMe",
    );
    expect(mask("10:30 in channel 123456789012345678, see file.name.of.things")).toBe(
      "10:30 in channel 123456789012345678, see file.name.of.things",
    );
  });
});

it("secrets are the same only when all of them is", () => {
  expect(sameSecret("one", "one")).toBe(true);
  expect(sameSecret("one", "one ")).toBe(false);
  expect(sameSecret("", "one")).toBe(false);
});
