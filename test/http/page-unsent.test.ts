/** What the page shows of messages that are not sent: refused, or waiting, and why. In a real browser, against the whole product. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { launchBrowser, login } from "./chat-page.js";
import { BOB, type RunningApp, runApp } from "./running-app.js";

let browser: Browser;
let app: RunningApp;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());
afterEach(async () => {
  await context?.close();
  await app?.close();
});

/** A person without a role: limits do not hold for owners. */
async function enter(config: Record<string, unknown> = {}): Promise<void> {
  app = await runApp(config);
  context = await browser.newContext({ viewport: { width: 1000, height: 700 } });
  page = await context.newPage();
  page.setDefaultTimeout(10_000);
  await page.goto(app.url);
  await login(page, BOB);
}

const composer = () => page.locator(".room-pane textarea");
const say = async (text: string) => {
  await composer().fill(text);
  await composer().press("Enter");
};
const said = () => page.locator(".room-pane .message[data-id] .text").allInnerTexts();

describe("a message above the limit", () => {
  it("stays in the composer, with the reason", async () => {
    await enter();
    await say("x".repeat(32_001));
    await page
      .locator(".composer .problem")
      .getByText("Not sent: a message holds 32000 characters, this one has 32001. Send it in parts, or as a file.")
      .waitFor();
    expect((await composer().inputValue()).length).toBe(32_001);
    expect(await page.locator(".message.waiting").count()).toBe(0);
    await say("x".repeat(32_000));
    await until(async () => (await said()).some((text) => text.length === 32_000), "the message at the limit");
    expect(await page.locator(".composer .problem").isHidden()).toBe(true);
  });

  it("that the server refuses is folded, keeps its place, and can be edited or discarded", async () => {
    await enter();
    await app.stop();
    await page.getByText("Connection lost").waitFor();
    await say(`first ${"x\n".repeat(1_000)}`);
    await say(`second ${"y\n".repeat(1_000)}`);
    // The longest message is shorter now.
    await app.start({ web: { max_text: 1_000 } });
    const refused = page.locator(".room-pane .message.refused");
    await until(async () => (await refused.count()) === 2, "two refused messages");
    await say("echo ping");
    await until(async () => (await said()).includes("ping"), "the answer");
    const inOrder = async () =>
      (await page.locator(".room-pane .message").allInnerTexts()).map((text) => /first|second|ping/.exec(text)?.[0]);
    expect(await inOrder()).toEqual(["first", "second", "ping", "ping"]);
    expect((await refused.first().boundingBox())?.height).toBeLessThan(200);
    for (const one of await page.locator(".room-pane .message").all())
      expect((await one.boundingBox())?.y).toBeGreaterThan(0);
    expect(await refused.first().textContent()).toMatch(/Not sent: a message holds 1000 characters/);
    expect(await refused.getByRole("button", { name: "Try again" }).count()).toBe(0);

    await page.reload();
    await until(async () => (await said()).includes("ping"), "the page");
    expect(await inOrder()).toEqual(["first", "second", "ping", "ping"]);
    await refused.first().getByRole("button", { name: "Discard" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
    await until(async () => (await refused.count()) === 1, "one refused message");
    await refused.getByRole("button", { name: "Edit" }).click();
    expect(await composer().inputValue()).toMatch(/^second/);
    await say("short");
    await until(async () => (await said()).includes("short"), "the message that was shortened");
    expect(await page.locator(".message.waiting").count()).toBe(0);
  });
});
