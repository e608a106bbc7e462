/** Answers for the tests of the page: one of everything that a message can carry. */
const CARD = {
  title: "Deploy of *web*",
  text: "All **three** hosts answer.",
  tone: "good",
  fields: [
    { name: "Host", value: "`a1`", inline: true },
    { name: "Took", value: "12 s", inline: true },
  ],
  footer: "3 minutes ago",
};
const BUTTONS = [
  [
    { label: "Say it", style: "primary", action: { kind: "say", text: "echo pressed" } },
    { label: "Status", action: { kind: "command", line: "/status" } },
    {
      label: "Ask",
      action: {
        kind: "command",
        line: "/help",
        form: { title: "Help with what?", fields: [{ id: "command", label: "Command", required: true }] },
      },
    },
    { label: "Docs", url: "https://example.org/docs" },
  ],
];

export default {
  id: "page",
  setup(api) {
    const answers = {
      echo: (rest) => ({ text: rest }),
      card: () => ({ text: "", card: CARD, buttons: BUTTONS }),
      file: () => ({
        text: "here it is",
        attachments: [
          { type: "file", ref: "x", url: "data:text/plain,hello", mimeType: "text/html", filename: "a.html" },
        ],
      }),
    };
    api.hooks.registerClaiming("inbound_claim", async ({ message }) => {
      const [word, ...rest] = message.text.split(" ");
      const answer = answers[word];
      if (answer) return { handled: true, reply: answer(rest.join(" ")) };
      if (word !== "draft") return { handled: false };
      const at = { platform: message.platform, botId: message.botId, chatId: message.chatId };
      const cause = { kind: "hook", id: "page", depth: 0 };
      const posted = await api.send(at, { text: "a draft" }, { cause });
      await api.edit(posted, { text: "the final text" }, { cause });
      return { handled: true };
    });
  },
};
