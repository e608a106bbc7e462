import fc from "fast-check";
import { expect, it } from "vitest";
import { idIn, POSTED } from "../../../adapters/discord/posted.js";

const found = (body: string) => POSTED.exec(body)?.[1];

it("the id of a posted message is found behind plain fields, and never taken from what is nested or written in it", () => {
  expect(found('{"id":"1"}')).toBe("1");
  expect(
    found(
      '{"type":0,"content":"a \\"id\\":\\"7\\", \\\\","mentions":[],"pinned":false,"edited_timestamp":null,"id":"2","author":{"id":"3"}}',
    ),
  ).toBe("2");
  for (const nested of ['{"author":{"id":"3"},"id":"2"}', '{"mentions":[{"id":"3"}],"id":"2"}', '{ "id": "2" }']) {
    expect(found(nested)).toBe(undefined);
    expect(idIn(nested)).toBe("2");
  }
  for (const none of ["null", "[]", "{}", '{"id":7}', "<html>", ""]) expect(() => idIn(none)).toThrow();
});

it("whatever is in a message and in whatever order, what is found is its id", () => {
  const plain = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom('"id":"7",', "\\", '"', "{", "}"),
    fc.double(),
    fc.boolean(),
  );
  const nested = fc.oneof(
    fc.constant(null),
    fc.constant([]),
    fc.record({ id: fc.constant("7") }),
    fc.array(fc.record({ id: fc.constant("7") })),
  );
  fc.assert(
    fc.property(
      fc.record({ content: plain, nonce: plain, author: nested, mentions: nested, referenced_message: nested }),
      fc.bigInt(0n, 2n ** 63n),
      fc.nat(5),
      (fields, id, at) => {
        const entries: [string, unknown][] = Object.entries(fields);
        entries.splice(at, 0, ["id", String(id)]);
        const body = JSON.stringify(Object.fromEntries(entries));
        expect(found(body) ?? idIn(body)).toBe(String(id));
      },
    ),
  );
});
