/** Links in what strangers wrote, posted by a hook: their words cannot hide where they lead. The links of the hook's own text stay links. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../support/until.js";
import { type Product, ROOM, startProduct } from "./product.js";

let product: Product;
beforeAll(async () => {
  const text = "{{ event.words }} ([record]({{ event.url }}))";
  const card = { title: "New [words](here)", text, fields: [{ name: "Words", value: text }] };
  product = await startProduct({
    hooks: [{ id: "tells", trigger: { event: "tells" }, run: { chat: { to: ROOM, text, card } } }],
  });
}, 60_000);
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
