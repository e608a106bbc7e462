/** The page in a real browser, against the whole product. */
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { launchBrowser, login } from "./chat-page.js";
import { BOB, OWNER, type RunningApp, runApp } from "./running-app.js";

let app: RunningApp;
let browser: Browser;
let context: BrowserContext;
let page: Page;
const wrong: string[] = [];

beforeAll(async () => {
  app = await runApp();
  browser = await launchBrowser();
  context = await browser.newContext({ viewport: { width: 1200, height: 800 } });
  page = await open(context);
  await login(page, OWNER, "Ada");
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});
beforeEach(async () => {
  await page.getByRole("button", { name: /^Hookgate/ }).click();
});

async function open(where: BrowserContext): Promise<Page> {
  const opened = await where.newPage();
  opened.setDefaultTimeout(10_000);
  opened.on("pageerror", (error) => wrong.push(error.message));
  opened.on("console", (message) => {
    if (/Content Security Policy/i.test(message.text())) wrong.push(message.text());
  });
  await opened.goto(app.url);
  return opened;
}

const composer = (on = page) => on.locator(".room-pane textarea");
const say = async (text: string, on = page) => {
  await composer(on).fill(text);
  await composer(on).press("Enter");
};
const message = (text: string | RegExp, on = page) =>
  on.locator(".room-pane .message[data-id]").filter({ hasText: text });
/** The buttons of a message are shown while the pointer is over it, and the list may move beneath: then the pointer follows. */
async function press(target: Locator, name: string): Promise<void> {
  const button = target.getByRole("button", { name, exact: true });
  await until(async () => {
    await target.hover();
    return button.click({ timeout: 1_000 }).then(
      () => true,
      () => false,
    );
  }, `a press on ${name}`);
}
const texts = (selector: string, on = page) => on.locator(selector).allInnerTexts();

describe("the page", () => {
  it("asks for the token, says when it is wrong, and logs in by the printed link", async () => {
    const other = await browser.newContext();
    const stranger = await open(other);
    await stranger.getByLabel("Token").fill("not the token");
    await stranger.getByRole("button", { name: "Log in" }).click();
    await stranger.getByText("This token is not known").waitFor();
    await stranger.locator("code", { hasText: "npx hookgate token" }).first().waitFor();
    await stranger.getByText("Run npx hookgate token on the gateway's machine").waitFor();
    // Pasted into the address bar of the page that asks for the token.
    await stranger.goto(`${app.url}/#token=an-old-token-of-another-day`);
    await stranger.getByText("This link's token is not valid any more").waitFor();
    await stranger.goto(`${app.url}/#token=${BOB}`);
    await stranger.getByText("Say hello, or type / to see commands").waitFor();
    expect(stranger.url()).not.toContain(BOB);
    // Everyone may write here: no role is needed.
    await stranger.getByText("Write your message here. What answers it, hooks or people,").waitFor();
    expect(await stranger.locator(".room-pane .notice").allInnerTexts()).not.toContainEqual(
      expect.stringContaining("You have no role"),
    );
    await stranger.goto(`${app.url}/#token=${BOB}`);
    await until(() => !stranger.url().includes(BOB), "the token leaving the address bar of the open chat");
    await other.close();
  });

  it("says something and shows the answer, formatted", async () => {
    await say("echo **bold** and `code`");
    await message(/^(?!.*echo).*bold and code/s)
      .locator("strong", { hasText: "bold" })
      .waitFor();
    expect(await composer().inputValue()).toBe("");
    expect(await page.locator(".who b").textContent()).toBe("Ada");
  });

  it("completes commands, options and hook ids from the keyboard", async () => {
    await composer().pressSequentially("/hoo");
    await page.getByRole("option", { name: "/hooks" }).waitFor();
    await composer().press("Tab");
    expect(await composer().inputValue()).toBe("/hooks ");
    await page.getByRole("option", { name: "show" }).waitFor();
    await composer().pressSequentially("sh");
    await until(async () => (await page.getByRole("option").count()) === 1);
    await composer().press("Tab");
    await page.getByRole("option", { name: "page.inbound_claim" }).waitFor();
    await composer().press("ArrowDown");
    await composer().press("ArrowUp");
    await composer().press("Tab");
    expect(await composer().inputValue()).toMatch(/^\/hooks show \S+ $/);
    await composer().press("Escape");
    await composer().press("Enter");
    await message(/inbound_claim/)
      .nth(1)
      .waitFor();
  });

  it("sends a command name that is typed in full, although a longer one has the same start", async () => {
    await composer().pressSequentially("/run");
    await page.getByRole("option", { name: "/runs" }).waitFor();
    expect((await texts(".option b")).slice(0, 2)).toEqual(["/run", "/runs"]);
    await composer().press("Enter");
    await until(async () => (await composer().inputValue()) === "");
  });

  it("lists commands by subject, describes each action, and names the chosen one to screen readers", async () => {
    await composer().pressSequentially("/");
    await page.getByRole("option", { name: "/help" }).waitFor();
    expect((await texts(".option b")).slice(0, 5)).toEqual(["/help", "/status", "/whoami", "/claim", "/hooks"]);
    const position = page.locator(".position span").first();
    expect(await position.textContent()).toBe(`1 of ${await page.getByRole("option").count()}`);
    await composer().press("ArrowDown");
    expect(await position.textContent()).toMatch(/^2 of /);
    const list = page.getByRole("listbox");
    expect(await composer().getAttribute("aria-controls")).toBe(await list.getAttribute("id"));
    const active = await composer().getAttribute("aria-activedescendant");
    expect(await page.locator(`#${active}`).getAttribute("aria-selected")).toBe("true");
    expect(await page.locator(`#${active}`).textContent()).toContain("/status");
    await composer().fill("/task ");
    await page.getByRole("option", { name: "decline" }).waitFor();
    const described = await texts(".option .muted");
    expect(described.length).toBeGreaterThan(14);
    expect(new Set(described).size).toBe(described.length);
    await composer().press("Escape");
    expect(await composer().getAttribute("aria-activedescendant")).toBeNull();
    await composer().fill("");
  });

  it("presses buttons, fills in forms and follows cards", async () => {
    await say("card");
    const card = message("Deploy of").last();
    await card.locator("dd", { hasText: "12 s" }).waitFor();
    await card.getByRole("button", { name: "Say it" }).click();
    await message(/^(?!.*echo).*pressed/s)
      .last()
      .waitFor();
    await card.getByRole("button", { name: "Ask" }).click();
    const form = page.getByRole("dialog");
    await form.getByLabel("Command").fill("whoami");
    const before = await page.locator(".room-pane .message[data-id]").count();
    await form.getByRole("button", { name: "Send" }).click();
    await form.waitFor({ state: "detached" });
    await until(async () => (await page.locator(".room-pane .message[data-id]").count()) > before);
    expect(await card.getByRole("link", { name: "Docs" }).getAttribute("rel")).toContain("noopener");
  });

  it("shows the gateway's edits in place", async () => {
    await say("draft");
    const final = message("the final text");
    await final.waitFor();
    await final.getByText("(edited)").waitFor();
    expect(await message("a draft").count()).toBe(0);
  });

  it("edits one's last message with the arrow key, reacts, and deletes after asking", async () => {
    await say("a typpo");
    await message("a typpo").waitFor();
    await composer().press("ArrowUp");
    await page.getByText("Editing your message").waitFor();
    await say("a typo");
    const mine = message(/a typo/);
    await mine.getByText("(edited)").waitFor();
    await press(mine, "React");
    await mine.getByRole("menuitem", { name: "React 🎉" }).click();
    await mine.getByRole("button", { name: "🎉 1" }).waitFor();
    await press(mine, "Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("This message was deleted.").waitFor();
  });

  it("follows a link to a message: far up, in another room, in a thread, by another name of this machine", async () => {
    const { room } = (await app.call(OWNER, "POST", "/api/rooms", { name: "Archive" })).body;
    let count = 0;
    const told = async (text: string, more = {}): Promise<number> => {
      const nonce = `link-to-message-${++count}`;
      const { body } = await app.call(OWNER, "POST", `/api/rooms/${room.id}/messages`, { text, nonce, ...more });
      return body.message.id;
    };
    const root = await told("the very first");
    const reply = await told("said below it", { threadId: String(root) });
    for (let n = 0; n < 70; n++) await told(`filler ${n}`);
    const { port } = new URL(app.url);
    await say(`[up there](http://localhost:${port}/#${room.id}/${root}) or [below](${app.url}/#${room.id}/${reply})`);
    await message("up there")
      .getByRole("link", { name: `#${room.id}/${root}` })
      .click();
    await page.locator(`.room-pane .message[data-id="${root}"].pointed`).waitFor();
    expect(await page.locator(".room-pane h1").textContent()).toBe("Archive");
    expect(await page.evaluate("document.activeElement.dataset.id")).toBe(String(root));
    expect(context.pages()).toHaveLength(1);

    // As it comes from another chat: in a page that is opened by it.
    const fresh = await context.newPage();
    await fresh.goto(`${app.url}/#${room.id}/${reply}`);
    await fresh.locator(`.thread-pane .message[data-id="${reply}"].pointed`).waitFor();
    await fresh.goto(`${app.url}/#${room.id}/999999`);
    await fresh.getByText("That message is not here any more.").waitFor();
    await fresh.close();
  });

  it("keeps a thread beside the room", async () => {
    await say("something to discuss");
    const root = message("something to discuss");
    await press(root, "Reply in thread");
    const field = page.getByRole("textbox", { name: "Reply in the thread" });
    await field.fill("echo below");
    await field.press("Enter");
    await until(async () => (await texts(".thread-pane .message[data-id] .text")).includes("below"));
    await root.getByRole("button", { name: "2 replies" }).waitFor();
    expect(await texts(".thread-pane .message[data-id] .text")).toEqual([
      "something to discuss",
      "echo below",
      "below",
    ]);
    await field.press("Escape");
    await page.locator(".thread-pane").waitFor({ state: "hidden" });
  });

  it("shows the end of the list after an own picture, however high it is", async () => {
    for (let i = 0; i < 30; i++) await say(`line ${i}`);
    const picture = await page.evaluate<string>(`(() => {
      const canvas = Object.assign(document.createElement("canvas"), { width: 300, height: 900 });
      return canvas.toDataURL("image/png").split(",")[1];
    })()`);
    // The browser reports our own scrolling after the picture has made the list longer.
    await page.evaluate(`(() => {
      const scroller = document.querySelector(".room-pane .scroller");
      scroller.addEventListener("load", () => scroller.dispatchEvent(new Event("scroll")), true);
    })()`);
    await page
      .locator(".room-pane input[type=file]")
      .setInputFiles([{ name: "high.png", mimeType: "image/png", buffer: Buffer.from(picture, "base64") }]);
    await until(async () => (await page.locator(".chip.done").count()) === 1);
    await say("my picture");
    const image = message("my picture").locator("img.picture");
    await until(async () => (await image.evaluate((img) => "naturalHeight" in img && img.naturalHeight)) === 900);
    await until(
      async () =>
        await page
          .locator(".room-pane .scroller")
          .evaluate((one) => one.scrollHeight - one.scrollTop - one.clientHeight < 4),
    );
  });

  it("replies to a message, and sends files", async () => {
    await say("the question");
    await press(message("the question"), "Reply");
    const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    await page.locator(".room-pane input[type=file]").setInputFiles([
      { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(pixel, "base64") },
      { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("notes") },
    ]);
    await until(async () => (await page.locator(".chip.done").count()) === 2);
    await say("the answer");
    const answer = message("the answer");
    await answer.locator(".reply-to", { hasText: "the question" }).waitFor();
    await answer.getByRole("link", { name: "notes.txt" }).waitFor();
    await answer.locator("img.picture").waitFor();
    await until(
      async () =>
        (await answer.locator("img.picture").evaluate((img) => "naturalWidth" in img && img.naturalWidth)) === 1,
    );
    // Beside a high picture, a file stays as high as its line.
    await answer.locator("img.picture").evaluate((img) => img.setAttribute("height", "200"));
    const [picture, file] = [
      await answer.locator("img.picture").boundingBox(),
      await answer.locator(".file").boundingBox(),
    ];
    expect(picture?.height).toBeGreaterThan(150);
    expect(file?.height).toBeLessThan(60);
  });

  it("shows what others say as it happens, and counts what one has not read", async () => {
    const theirs = await browser.newContext();
    const bob = await open(theirs);
    await login(bob, BOB);
    await bob.getByRole("button", { name: "General" }).click();
    await say("one for Ada", bob);
    await say("two for Ada", bob);
    await page.getByRole("button", { name: "General 2 unread" }).waitFor();
    expect(await page.title()).toBe("(2) Hookgate");
    await page.getByRole("button", { name: "General" }).click();
    await message("two for Ada").waitFor();
    await until(async () => (await page.title()) === "Hookgate");
    await say("/hooks", bob);
    await bob.locator(".message.private").getByText("Only you can see this").waitFor();
    expect(await page.locator(".message.private").count()).toBe(0);
    await theirs.close();
  });

  it("shows at once that the network is gone, and under whose name a message waits", async () => {
    await say("echo a word before");
    await message(/^(?!.*echo).*a word before/s).waitFor();
    await context.setOffline(true);
    await page.getByText("Connection lost").waitFor();
    await say("echo from afar");
    const waiting = page.locator(".room-pane .message.waiting");
    await waiting.getByText("It is sent when the connection is back").waitFor();
    expect(await waiting.locator(".author").textContent()).toBe("Ada");
    await context.setOffline(false);
    await message(/^(?!.*echo).*from afar/s).waitFor();
    await page.getByText("Connection lost").waitFor({ state: "hidden" });
    expect(await waiting.count()).toBe(0);
  });

  it("adds a room for everybody", async () => {
    await page.getByRole("button", { name: "Add a room" }).click();
    await page.getByLabel("Name", { exact: true }).fill("General");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("dialog").getByText("there is a room").waitFor();
    await page.getByLabel("Name", { exact: true }).fill("Night shift");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "Night shift" }).waitFor();
    await page.getByText("Say hello, or type / to see commands").waitFor();
  });

  it("loses and doubles nothing when the server restarts, and keeps what is typed", async () => {
    await say("echo before the restart");
    await message(/^(?!.*echo).*before the restart/s).waitFor();
    await app.stop();
    await say("echo while it is down");
    await page.getByText("Connection lost").waitFor();
    await composer().fill("not sent yet");
    await page.reload().catch(() => {});
    await app.start();
    // The browser may still be busy showing that nobody answered.
    await until(() => page.goto(app.url).catch(() => undefined), "the page");
    await until(async () => (await texts(".room-pane .message[data-id] .text")).includes("while it is down"));
    expect(await composer().inputValue()).toBe("not sent yet");
    await composer().fill("");
    const all = (await texts(".room-pane .message[data-id] .text")).filter(
      (text) => text.includes("restart") || text.includes("down"),
    );
    expect(all).toEqual(["echo before the restart", "before the restart", "echo while it is down", "while it is down"]);
  });

  it("comes back by itself after a restart, without a reload", async () => {
    await app.stop();
    await say("echo patience");
    await app.start();
    await message(/^(?!.*echo).*patience/s).waitFor({ timeout: 20_000 });
    expect((await texts(".room-pane .message .text")).filter((text) => text.endsWith("patience"))).toEqual([
      "echo patience",
      "patience",
    ]);
  });

  it("ran no script that failed, and broke no policy", () => {
    expect(wrong).toEqual([]);
  });
});

describe("the page, where messages are copied to a room", () => {
  it("shows in the copy, the room and the thread where an answer goes", async () => {
    const desk = await runApp({
      gateway: { default_route: { forward: "web:web:desk" } },
      web: {
        rooms: [
          { id: "general", name: "General" },
          { id: "desk", name: "Desk" },
        ],
        access: { dms: "everyone", chats: ["*"], mention: "required" },
      },
    });
    const inDesk = await browser.newContext({ viewport: { width: 1200, height: 800 } });
    try {
      for (const [room, text] of [
        ["dm-2", "Where is it?"],
        ["general", "@Hookgate Where is it?"],
      ])
        await desk.call(BOB, "POST", `/api/rooms/${room}/messages`, { text, nonce: `nonce-for-${room}` });
      const ann = await inDesk.newPage();
      await ann.goto(desk.url);
      await login(ann, OWNER, "Ann");
      await ann.getByRole("button", { name: "Desk" }).click();
      const notice = (pane: string) => ann.locator(`${pane} .notice`).textContent();
      const mention = "Mention @Hookgate to talk to it here.";
      expect(await notice(".room-pane")).toBe(`To answer a copied message, reply to it. ${mention}`);
      for (const [copy, where] of [
        ["Bob: Where is it?", "What you write here is sent to Bob."],
        ["Bob in General: Where is it?", "What you write here is posted in General, for everyone there to read."],
      ] as const) {
        await press(message(copy, ann), "Reply in thread");
        await until(async () => (await notice(".thread-pane")) === where, where);
      }
      await ann.getByRole("button", { name: "General" }).click();
      await press(message("@Hookgate Where is it?", ann), "Reply in thread");
      await until(async () => (await notice(".thread-pane")) === mention, mention);
    } finally {
      await inDesk.close();
      await desk.close();
    }
  });
});

describe("the page, where only operators and mentions are answered", () => {
  it("shows at every width when a mention or a role is needed, below messages too", async () => {
    const strict = await runApp({ web: { access: { dms: "operators", chats: ["general"], mention: "required" } } });
    const phone = await browser.newContext({ viewport: { width: 390, height: 760 } });
    try {
      const bob = await phone.newPage();
      await bob.goto(strict.url);
      await login(bob, BOB);
      const notice = bob.locator(".room-pane .notice");
      await say("are you there?", bob);
      await message("are you there?", bob).waitFor();
      await notice.getByText("You have no role, so Hookgate does not answer you here: send /whoami").waitFor();
      await bob.getByRole("button", { name: "Rooms", exact: true }).click();
      await bob.getByRole("button", { name: "General" }).click();
      await say("hello everybody", bob);
      await message("hello everybody", bob).waitFor();
      // Who mentions it here is answered, with or without a role.
      await until(
        async () => (await notice.textContent()) === "Mention @Hookgate to talk to it here.",
        "no word about roles",
      );
      for (const width of [390, 1200]) {
        await bob.setViewportSize({ width, height: 760 });
        expect(await notice.isVisible()).toBe(true);
        expect(await notice.evaluate((one) => one.scrollWidth <= one.clientWidth)).toBe(true);
      }
      await bob.locator("nav button", { hasText: "Hookgate" }).click();
      await notice.getByText("You have no role, so").waitFor();
      // With a role, after a restart of the gateway and without a reload of the page.
      await strict.stop();
      await strict.start({ operators: { viewer: ["web:2"] } });
      await until(async () => (await notice.textContent()) === "", "the line without a role");
      // With a role that was claimed a moment ago.
      await strict.stop();
      await strict.start();
      await notice.getByText("You have no role, so").waitFor();
      const { data } = (await strict.call(OWNER, "POST", "/api/command", { line: "/claim" })).body;
      await say(`/claim ${data.code}`, bob);
      await until(async () => !(await notice.textContent())?.includes("You have no role"), "the line without a role");
    } finally {
      await phone.close();
      await strict.close();
    }
  });

  it("offers what this person may use in this room, and says how to be answered", async () => {
    const strict = await runApp({ web: { access: { dms: "operators", chats: ["general"], mention: "required" } } });
    const theirs = await browser.newContext();
    try {
      const bob = await theirs.newPage();
      await bob.goto(strict.url);
      await login(bob, BOB);
      await bob.getByRole("heading", { name: "Only operators get answers here" }).waitFor();
      const offered = () => texts(".empty button", bob);
      expect(await offered()).toEqual(["/help", "/whoami"]);
      await bob.getByRole("button", { name: "General" }).click();
      await bob.getByRole("heading", { name: "Mention @Hookgate to talk to it" }).waitFor();
      expect(await offered()).toEqual(["@Hookgate hello", "/help", "/whoami"]);
      await strict.call(BOB, "POST", "/api/rooms", { name: "Elsewhere" });
      await bob.getByRole("button", { name: "Elsewhere" }).click();
      await bob.getByRole("heading", { name: "Hookgate does not answer here" }).waitFor();
    } finally {
      await theirs.close();
      await strict.close();
    }
  });
});
