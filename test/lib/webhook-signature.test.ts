/** Signatures, held against the library of the specification. */
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { isSignedBy, sign, signingKey } from "../../src/lib/signing/webhook-signature.js";

const secret = fc
  .uint8Array({ minLength: 1, maxLength: 64 })
  .map((bytes) => `whsec_${Buffer.from(bytes).toString("base64")}`);
const what = fc.record({
  id: fc.string({ minLength: 1 }),
  at: fc.integer({ min: 0, max: 4_000_000_000_000 }),
  body: fc.string({ unit: "grapheme" }),
});

describe("webhook signatures", () => {
  it("are those of the specification's library, for any body and any key", () => {
    fc.assert(
      fc.property(secret, what, (key, one) => {
        const theirs = new Webhook(key).sign(one.id, new Date(one.at), one.body);
        expect(sign(one, [key])).toBe(theirs);
        expect(isSignedBy(one, `v1a,other ${theirs}`, [key])).toBe(true);
      }),
    );
  });

  it("are known by either secret, and by no other; nor for another id, time or body", () => {
    const one = { id: "msg_1", at: 1_700_000_000_000, body: "{}" };
    const header = sign(one, ["first", "second"]);
    expect(header.split(" ")).toHaveLength(2);
    expect(isSignedBy(one, header, ["second"])).toBe(true);
    expect(isSignedBy(one, header, ["third"])).toBe(false);
    expect(isSignedBy({ ...one, id: "msg_2" }, header, ["first"])).toBe(false);
    expect(isSignedBy({ ...one, at: one.at + 1000 }, header, ["first"])).toBe(false);
    expect(isSignedBy({ ...one, body: "{ }" }, header, ["first"])).toBe(false);
    expect(isSignedBy(one, "", ["first"])).toBe(false);
    expect(isSignedBy(one, header, [])).toBe(false);
  });

  it("need a key", () => {
    for (const bad of ["", "whsec_", "whsec_%%%"]) expect(() => signingKey(bad)).toThrow();
    expect(signingKey("any words").toString()).toBe("any words");
  });
});
