/** Moments and persons in a text, as each platform shows them. */
import { describe, expect, it } from "vitest";
import { formatDiscord } from "../../../adapters/discord/format.js";
import { formatTelegram } from "../../../adapters/telegram/format.js";
import { formatWeb } from "../../../adapters/web/format.js";

const AT = Date.UTC(2026, 0, 2, 15, 4) / 1000;
const discord = (message: Parameters<typeof formatDiscord>[0]) => formatDiscord(message, { plain: false })[0];
const telegram = (message: Parameters<typeof formatTelegram>[0]) => formatTelegram(message, { plain: false })[0];
const web = (message: Parameters<typeof formatWeb>[0]) => formatWeb(message, { plain: false });

describe("a moment", () => {
  it("is formatted with one format for all of its style and zone, however many a text has", () => {
    const real = Intl.DateTimeFormat;
    let made = 0;
    Intl.DateTimeFormat = new Proxy(real, {
      construct(target, given) {
        made++;
        return Reflect.construct(target, given);
      },
    });
    try {
      const shown = telegram({ text: "<t:1:D> ".repeat(200) })?.text ?? "";
      expect(shown.match(/1 Jan 1970/g)).toHaveLength(200);
      expect(made).toBeLessThanOrEqual(1);
    } finally {
      Intl.DateTimeFormat = real;
    }
  });

  const text = `due <t:${AT}:f:Europe/Berlin>, **now**`;

  it("is the reader's own on Discord, in texts and cards", () => {
    expect(discord({ text })?.content).toBe(`due <t:${AT}:f>, **now**`);
    expect(
      discord({ text: "", card: { title: "x", fields: [{ name: "Due", value: text }] } })?.embeds?.[0]?.fields?.[0]
        ?.value,
    ).toBe(`due <t:${AT}:f>, **now**`);
  });

  it("is written out with its zone where the reader's is not known", () => {
    expect(telegram({ text })?.text).toBe("due 2 Jan 2026, 16:04 CET, now");
    expect(telegram({ text: `<t:${AT}>` })?.text).toBe("2 Jan 2026, 15:04 UTC");
    expect(telegram({ text: `<t:${AT}:t>` })?.text).toBe("15:04 UTC");
    expect(telegram({ text: `<t:${AT}:f:No/Where>` })?.text).toBe("2026-01-02T15:04:00.000Z");
  });

  it("is marked for the page of the web chat, which knows its reader's clock", () => {
    expect(web({ text }).html).toContain('<time datetime="2026-01-02T15:04:00.000Z">2 Jan 2026, 16:04 CET</time>');
    expect(web({ text }).text).toBe("due 2 Jan 2026, 16:04 CET, now");
  });

  it("in code is what was written", () => {
    for (const shown of [discord({ text: `\`<t:${AT}>\`` })?.content, telegram({ text: `\`<t:${AT}>\`` })?.text])
      expect(shown).toContain(`<t:${AT}>`);
  });
});

describe("a person", () => {
  const text = "<@123|Ann> look";
  const mentions = { users: ["123"] };

  it("is pinged when the message says so", () => {
    expect(discord({ text, mentions })?.content).toBe("<@123> look");
    expect(telegram({ text, mentions })).toMatchObject({
      text: "@Ann look",
      entities: [{ type: "text_mention", offset: 0, length: 4, user: { id: 123 } }],
    });
  });

  it("is not pinged when it does not", () => {
    expect(discord({ text })?.content).toBe("\\<@123> look");
    expect(telegram({ text })).toEqual({ text: "@Ann look", entities: [] });
    expect(web({ text, mentions }).html).toBe("<p>@Ann look</p>");
  });
});
