import { expect, it } from "vitest";
import { idIn } from "../../../adapters/discord/posted.js";

it("the id of a posted message is its own, and never one that is nested or written in it", () => {
  expect(idIn('{"id":"1"}')).toBe("1");
  expect(idIn('{"content":"a \\"id\\":\\"7\\", \\\\","author":{"id":"3"},"id":"2","mentions":[{"id":"4"}]}')).toBe("2");
  for (const none of ["null", "[]", "{}", '{"id":7}', '{"id":"1"', "<html>", ""]) expect(() => idIn(none)).toThrow();
});
