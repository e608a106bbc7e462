/** A plugin whose error and reason quote the message. */
export default {
  id: "quoting",
  setup(api) {
    api.hooks.registerVoid("message_sent", ({ message }) => {
      if (/owner code|a private word/.test(message.text))
        throw new Error(`cannot archive ${message.text.toUpperCase()}`);
    });
    api.hooks.registerModifying("message_sending", ({ chatId, message }) =>
      chatId === "dm-1" && message.text.includes("cancelled job") && message.text.includes("printed")
        ? { cancel: `refused ${message.text.toUpperCase()}` }
        : {},
    );
    api.hooks.registerClaiming("before_dispatch", ({ text }) =>
      text.includes("dropped job") && text.includes("printed")
        ? { handled: true, reason: `dropped ${text.toUpperCase()}` }
        : { handled: false },
    );
  },
};
