/**
 * Links that a hook posts. The words of those that strangers wrote cannot hide where they lead, and the links of the hook's own text stay links.
 * No value decides where an address of the hook's own leads.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { chatOptions } from "../../src/automations/handlers/chat/options.js";
import { until } from "../support/until.js";
import { type Product, ROOM, startProduct } from "./product.js";

const posting = (id: string, options: object) => ({
  id,
  trigger: { event: id },
  run: { chat: { to: ROOM, ...options } },
});

let product: Product;
beforeAll(async () => {
  const text = "{{ event.words }} ([record]({{ event.url }}))";
  const card = { title: "New [words](here)", text, fields: [{ name: "Words", value: text }] };
  product = await startProduct({
    hooks: [
      { id: "tells", trigger: { event: "tells" }, run: { chat: { to: ROOM, text, card } } },
      posting("card", {
        card: { title: "Build", url: "https://ci.example.org/b/{{ event.build }}?by={{ event.by }}" },
      }),
      posting("button", {
        text: "Build",
        buttons: [[{ label: "Open", url: "https://ci.example.org/b/{{ event.build | url_encode }}#{{ event.by }}" }]],
      }),
      posting("text", {
        text: "Build {% if event.by %}[Open](https://ci.example.org/b/{{ event.build }}?by={{ event.by }}){% endif %} by {{ event.by }}",
      }),
      posting("signs", {
        text: "{{ event.path | plain }}: {{ event.sum }}, `{{ event.sum }}`",
        card: { fields: [{ name: "Path", value: "{{ event.path | plain }}" }] },
      }),
      posting("named", {
        text: "New: [Issue {{ event.title | plain }}](https://tracker.example.org/i/{{ event.n }})",
        card: { text: "New: [Issue {{ event.title }}](https://tracker.example.org/i/{{ event.n }})" },
      }),
      posting("code", {
        text: "Run `{{ event.value }}` of {{ event.by }} `{{ event.value | plain }}`:\n```sh\n{{ event.value }}\n```\n> ~~~\n> {{ event.quoted }}\n> ~~~",
      }),
      posting("whole", { card: { title: "Whole", url: "{{ event.link }}" } }),
    ],
  });
}, 120_000);
afterAll(() => product.close());

it("are shown as they were written, in texts and cards", async () => {
  const event = { words: "Pay [the invoice](https://evil.example)", url: "https://records.example/7" };
  await product.event(event, { name: "tells" });
  const posted = await until(
    async () => (await product.messages()).find(({ text }) => text.includes("invoice")),
    "the message",
  );
  const shown = posted as unknown as {
    html: string;
    card: { title: string; html: string; fields: { html: string }[] };
  };
  expect(shown.card.title).toBe("New [words](here)");
  for (const html of [shown.html, shown.card.html, shown.card.fields[0]?.html]) {
    expect(html).not.toMatch(/>the invoice<\/a>/);
    expect(html).toMatch(/\[the invoice\]\((<a [^>]*>)?https:\/\/evil\.example/);
    expect(html).toMatch(/<a [^>]*href="https:\/\/records\.example\/7"[^>]*>record<\/a>/);
  }
});

it("a value is Markdown, and shown sign by sign by the filter plain and in a code span", async () => {
  const path = "pkg/__init__.py [5*3*2](https://evil.example) C:\\_x";
  const moment = "<t:0:R>";
  await product.event({ path: `${path} ${moment}`, sum: "5*3*2" }, { name: "signs" });
  const posted = (await until(
    async () => (await product.messages()).find(({ text }) => text.includes("init")),
    "the message",
  )) as unknown as { html: string; card: { fields: { html: string }[] } };
  const words = (html = "") =>
    html
      .replace(/<[^>]*>/g, "")
      .replaceAll("\u200B", "")
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">");
  expect(words(posted.html)).toBe(`${path} ${moment}: 532, 5*3*2`);
  expect(words(posted.card.fields[0]?.html)).toBe(`${path} ${moment}`);
  expect(posted.html).not.toContain(">5*3*2</a>");
});

it.each([
  "fix [x](https://evil.example/) now",
  "rm `*`.tmp",
  "` [x](https://evil.example/) `",
  "```\n[x](https://evil.example/)\n```",
])("a value in code is shown sign by sign, and stays in the code: %s", async (value) => {
  const { html, code } = await postedCode({ value, by: "Ann", quoted: "[x](y)" });
  expect(code).toEqual([value, value, value, "[x](y)"]);
  expect(html).not.toContain("href");
});

it.each([
  { value: "a\n\n[x](https://evil.example/)", by: "Ann", quoted: "q" },
  { value: "[x](https://evil.example/)", by: "`", quoted: "q" },
  { value: "v", by: "Ann", quoted: "q\n[x](https://evil.example/)" },
  { value: "v", by: "Ann", quoted: "~~~\n[x](https://evil.example/)" },
  {
    value: "\uFDD0](\uFDD1]\uFDD2(https://evil.example/)",
    by: "\uFDD0](\uFDD1]\uFDD2(https://evil.example/)",
    quoted: "q",
  },
])("a value that ends its code makes no link there: %j", async (event) => {
  const { html } = await postedCode(event);
  expect(html).not.toMatch(/<a [^>]*>x<\/a>/);
  for (const [, address, words] of html.matchAll(/<a href="([^"]*)"[^>]*>(.*?)<\/a>/g)) expect(words).toBe(address);
});

/** The message of the hook `code` for one more event, and what its code says. */
async function postedCode(event: Record<string, unknown>) {
  const before = (await product.messages()).length;
  await product.event(event, { name: "code" });
  const { html = "" } = await until(async () => (await product.messages())[before], "the message");
  const code = [...html.matchAll(/<code[^>]*>(.*?)<\/code>/gs)].map(([, words = ""]) => words);
  return { html, code };
}

it.each(["see [log](https://paste.example/1)", "](https://evil.example/) [x", "[bug] a] b"])(
  "a value in the words of a link does not change where the words of the hook lead: %s",
  async (title) => {
    const before = (await product.messages()).length;
    await product.event({ title, n: 7 }, { name: "named" });
    const { html, card } = (await until(async () => (await product.messages())[before], "the message")) as unknown as {
      html: string;
      card: { html: string };
    };
    const own = "https://tracker.example.org/i/7";
    expect([...html.matchAll(/href="([^"]*)"/g)].map(([, address]) => address)).toEqual([own]);
    expect(html.replace(/<[^>]*>/g, "")).toContain(`New: Issue ${title}`);
    for (const [, address, words] of card.html.matchAll(/<a href="([^"]*)"[^>]*>(.*?)<\/a>/g))
      if (address !== own) expect(words).toBe(address);
  },
);

type Posted = { card?: { title: string; url?: string }; buttons?: { url: string }[][] };

/** The run of a hook for one more event; and the addresses that its message has, when it posted one. */
async function outcomeOf(name: string, payload: Record<string, unknown>) {
  const before = (await product.messages()).length;
  const runs = product.runs(name).length;
  await product.event(payload, { name });
  const run = (await product.ended(name, runs + 1)).at(-1);
  if (run?.status !== "succeeded") return { status: run?.status, reason: run?.statusReason };
  const posted = (await until(async () => (await product.messages())[before], "the message")) as Posted;
  return { url: posted.card?.url ?? posted.buttons?.[0]?.[0]?.url };
}

it.each(["card", "button"])(
  "in the address of a %s, values are encoded, and none leads out of its folder",
  async (name) => {
    const slash = name === "card" ? "/" : "%2F";
    const by = name === "card" ? "?by=" : "#";
    expect(await outcomeOf(name, { build: "a/b?c#d\\", by: "x&y=@" })).toEqual({
      url: `https://ci.example.org/b/a${slash}b%3Fc%23d%5C${by}x%26y%3D%40`,
    });
    expect(await outcomeOf(name, { build: ".", by: "../.." })).toMatchObject({
      url: expect.stringContaining("ci.example.org/b/."),
    });
    expect(await outcomeOf(name, { build: "..", by: "" })).toEqual({
      status: "failed",
      reason: expect.stringContaining('a value leads out of the folder, with ".."'),
    });
  },
);

it("in the address of a link in Markdown, values are encoded, and none leads out of its folder or ends it", async () => {
  const posted = async () => (await product.messages()).at(-1)?.html;
  await outcomeOf("text", { build: "a/b?c#d) [e](https://evil.example)", by: "x&y/../z" });
  expect(await posted()).toContain(
    'href="https://ci.example.org/b/a/b%3Fc%23d%29%20%5Be%5D%28https%3A//evil.example%29?by=x%26y/../z"',
  );
  expect(await posted()).toContain("</a> by x&amp;y/../z");
  expect(await outcomeOf("text", { build: "x/../../logout", by: "y" })).toEqual({
    status: "failed",
    reason: expect.stringContaining('a value leads out of the folder, with ".."'),
  });
});

it("an address that is one value leads where the value says, to a web page or nowhere", async () => {
  expect(await outcomeOf("whole", { link: "https://x.example/a?b=c&d#e" })).toEqual({
    url: "https://x.example/a?b=c&d#e",
  });
  expect(await outcomeOf("whole", {})).toEqual({ url: undefined });
  expect(await outcomeOf("whole", { link: "javascript:alert(1)" })).toEqual({
    status: "failed",
    reason: expect.stringContaining("card.url: expected an address that starts with https: or http:"),
  });
});

const THERE = "https://ci.example.org";

it.each([
  `{% assign u = '${THERE}/b/' | append: event.v %}[Open]({{ u }})`,
  `{% capture u %}${THERE}{{ event.v }}{% endcapture %}[Open](<{{ u }}>)`,
  `{% assign a = '${THERE}' | append: event.v %}{% assign u = a %}[Open]({{ u }})`,
  `[Open]({{ '${THERE}/b/' | append: event.v }})`,
  `[Open]({{ "" }}${THERE}{{ event.v }})`,
])("an address in Markdown that is put together is refused at load: %s", (text) => {
  const refused = expect.stringMatching(/^the link to \S.*: a value from the event would decide which server/);
  for (const options of [{ text }, { card: { title: "Build", text } }])
    expect(chatOptions.safeParse(options).error?.issues.map(({ message }) => message)).toEqual([refused]);
});

it.each([
  "[Open]({{ event.link }})",
  `{% assign v = event.v | upcase %}[Open](${THERE}/b/{{ v }})`,
  `{% assign u = event.link %}[Open]({{ u }}) {{ u }}`,
  `{% assign docs = '${THERE}/docs' %}{{ docs }} [Open]({{ event.link }})`,
])("an address in Markdown that is one value, or has one behind its server, is accepted: %s", (text) => {
  expect(chatOptions.safeParse({ text }).error?.issues).toBeUndefined();
});
