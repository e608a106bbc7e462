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

describe("messages that wait while the connection stands", () => {
  it("above the limit of a minute say when they are sent, and are sent in order", async () => {
    await enter({ http: { messages_per_minute: 3 } });
    for (let n = 1; n <= 6; n++) await say(`message ${n}`);
    const states = () => page.locator(".room-pane .message.waiting .muted").allTextContents();
    await until(async () => (await states()).length === 3 && !(await states()).includes("Sending…"), "the reasons");
    const [first = "", ...others] = await states();
    expect(others).toEqual(["Waits for the messages before it.", "Waits for the messages before it."]);
    const secondsOf = (text = "") => Number(/^You write too fast: sent in about (\d+) s\.$/.exec(text)?.[1]);
    expect(secondsOf(first)).toBeGreaterThan(5);
    await until(async () => secondsOf((await states())[0]) < secondsOf(first), "the time that is left");
    // A new process counts anew.
    await app.stop();
    await app.start({ http: {} });
    await until(async () => (await said()).length >= 6 && (await states()).length === 0, "all messages");
    expect((await said()).filter((text) => text.startsWith("message"))).toEqual(
      [1, 2, 3, 4, 5, 6].map((n) => `message ${n}`),
    );
  });

  it("for a server that is not ready say so, and go out when it is", async () => {
    await enter();
    const error = { code: "STORE_LOCKED", message: "the database is busy" };
    await page.route("**/messages", (route) => route.fulfill({ status: 503, json: { error } }), { times: 1 });
    await say("echo patience");
    await page.locator(".message.waiting").getByText("Not sent yet: the database is busy. Trying again…").waitFor();
    await until(async () => (await said()).includes("patience"), "the answer");
  });
});

describe("the list of rooms on a phone", () => {
  it("says whether it is open, takes the keyboard, and closes with Escape", async () => {
    await enter();
    await page.setViewportSize({ width: 390, height: 760 });
    const menu = page.getByRole("button", { name: "Rooms", exact: true });
    const nav = page.getByRole("navigation", { name: "Rooms" });
    expect(await menu.getAttribute("aria-expanded")).toBe("false");
    await menu.click();
    expect(await menu.getAttribute("aria-expanded")).toBe("true");
    expect(await menu.getAttribute("aria-controls")).toBe(await nav.getAttribute("id"));
    expect(await nav.evaluate((one) => one.contains(one.ownerDocument.activeElement))).toBe(true);
    await page.keyboard.press("Escape");
    await nav.waitFor({ state: "hidden" });
    expect(await menu.getAttribute("aria-expanded")).toBe("false");
    expect(await menu.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);
  });
});

describe("what cannot help", () => {
  it("is not offered: no second try of a file above the limit, no keys on a touch screen", async () => {
    await enter({ http: { max_upload_mb: 1 } });
    const file = { name: "big.bin", mimeType: "application/octet-stream", buffer: Buffer.alloc(1_000_001) };
    await page.locator(".room-pane input[type=file]").setInputFiles([file]);
    const chip = page.locator(".chip.failed");
    await chip.getByText("larger than 1.0 MB").waitFor();
    expect(await chip.getByRole("button").count()).toBe(1);
    await chip.getByRole("button", { name: "Remove big.bin" }).click();

    const keys = (on: Page) => on.getByText("Tab to complete");
    await composer().pressSequentially("/");
    await keys(page).waitFor();
    const phone = await browser.newContext({ viewport: { width: 390, height: 760 }, hasTouch: true, isMobile: true });
    try {
      const touched = await phone.newPage();
      await touched.goto(app.url);
      await login(touched, BOB);
      await touched.locator(".room-pane textarea").pressSequentially("/");
      await touched.getByRole("option", { name: "/help" }).waitFor();
      expect(await keys(touched).isHidden()).toBe(true);
    } finally {
      await phone.close();
    }
  });
});

const notes = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("notes") };

describe("a file that could not be uploaded", () => {
  it("is uploaded when the connection is back, and goes with its message", async () => {
    await enter();
    await app.stop();
    await page.getByText("Connection lost").waitFor();
    const file = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("notes") };
    await page.locator(".room-pane input[type=file]").setInputFiles([file]);
    await page.locator(".chip.failed").getByText("Hookgate cannot be reached at the moment").waitFor();
    await app.start();
    await page.locator(".chip.done").waitFor();
    await say("here they are");
    await until(async () => (await said()).some((text) => text.includes("here they are")), "the message");
    expect(await page.locator(".room-pane .message").getByText("notes.txt").count()).toBe(1);
  });

  it("goes with its message by itself when Send was pressed before, once, and a changed text waits for Send", async () => {
    await enter();
    let upload: (() => void) | undefined;
    await page.route("**/api/uploads*", async (route) => {
      await new Promise<void>((done) => {
        upload = done;
      });
      await route.continue();
    });
    const line = page.locator(".composer .problem");
    const attach = async () => {
      upload = undefined;
      await page.locator(".room-pane input[type=file]").setInputFiles([notes]);
      await until(async () => upload !== undefined, "the upload");
    };
    await attach();
    await say("here they are");
    await line.getByText("The message is sent when its files have arrived.").waitFor();
    upload?.();
    await until(async () => (await said()).some((text) => text.includes("here they are")), "the message");
    expect(await line.isHidden()).toBe(true);
    expect(await page.locator(".room-pane .message").getByText("notes.txt").count()).toBe(1);
    await attach();
    await say("half a");
    await composer().pressSequentially(" text");
    expect(await line.isHidden()).toBe(true);
    upload?.();
    await page.locator(".chip.done").waitFor();
    expect(await composer().inputValue()).toBe("half a text");
    await composer().press("Enter");
    await until(async () => (await said()).some((text) => text.includes("half a text")), "the changed message");
    expect((await said()).filter((text) => text.includes("here they are"))).toHaveLength(1);
  });

  it("and is refused keeps the message in the composer, with what to do", async () => {
    await enter({ http: { max_upload_mb: 1 } });
    await page
      .locator(".room-pane input[type=file]")
      .setInputFiles([{ ...notes, name: "big.bin", buffer: Buffer.alloc(1_000_001) }]);
    await page.locator(".chip.failed").waitFor();
    await say("here it is");
    await page
      .locator(".composer .problem")
      .getByText("Not sent: big.bin failed. Try it again or remove it, then press Send.")
      .waitFor();
    expect(await composer().inputValue()).toBe("here it is");
  });
});

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
