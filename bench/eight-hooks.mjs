/** The plugin of the benchmark: eight hooks on the way of every message, one of which answers. */
export default {
  id: "bench",
  setup({ hooks }) {
    let seen = 0;
    hooks.registerVoid("message_received", () => void seen++, { id: "count" });
    hooks.registerVoid("message_received", async () => void seen++, { id: "count-later" });
    hooks.registerClaiming(
      "inbound_claim",
      ({ message }) => (message.text.startsWith("!") ? { handled: true } : { handled: false }),
      { id: "ignore" },
    );
    hooks.registerClaiming("inbound_claim", ({ message }) => ({ handled: true, reply: { text: message.text } }), {
      id: "echo",
    });
    hooks.registerClaiming("before_dispatch", ({ text }) => ({ handled: text === "" }), { id: "no-empty" });
    hooks.registerModifying(
      "message_sending",
      ({ message }) => (message.text.includes("secret") ? { message: { ...message, text: "***" } } : null),
      { id: "redact", sees: "merged" },
    );
    hooks.registerModifying("message_sending", async () => null, { id: "look" });
    hooks.registerVoid("message_sent", () => void seen++, { id: "count-sent" });
  },
};
