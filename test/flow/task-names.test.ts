/** A person whom no setting names is called in tasks by the name under which they gave commands. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../support/until.js";
import { invoke, type Stack, startStack } from "./stack.js";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ withFlow: false, online: ["web", "telegram"] });
}, 120_000);
afterAll(() => stack?.stop());

it("a task of a Telegram person is listed, found, shown and added under the person's name, also on its card", async () => {
  const { telegram } = stack.platforms;
  const ref = `telegram:${stack.telegram.userId}`;
  const ask = async (line: string) => (await invoke(stack.gateway.url, line)).text;
  await ask(`/task add person:${ref} Sweep the yard`);
  // Nothing has named the person yet, and the id is whole.
  expect(await ask("/task list")).toContain(ref);

  const [group] = telegram.places;
  await telegram.command(group, "owner", "/task add me Water plants");
  const card = await until(
    async () => (await telegram.seen(group)).find(({ text }) => /Water plants[\s\S]*Who/.test(text))?.text,
    "the card",
  );
  expect(card).toMatch(/Who\W+Ada/);
  const list = await ask("/task list");
  expect(list).toContain("Ada");
  expect(list).not.toContain(ref);
  for (const title of ["Water plants", "Sweep the yard"]) {
    expect(await ask("/task list Ada")).toContain(title);
    expect(await ask(`/task show "${title}"`)).toContain("for Ada");
  }
  expect(await ask(`/task add person:${ref} Buy milk`)).toMatch(/for Ada\./);
});
