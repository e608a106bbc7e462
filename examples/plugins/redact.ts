/**
 * Takes secrets and card numbers out of everything that is about to be sent: texts, cards and button labels.
 * It sees what the hooks before it made of the message (a footer, a rewrite) and is fail-closed: should it ever fail, the
 * message is held for an operator instead of being sent unguarded.
 */
import { z } from "zod";
import { definePlugin, type OutboundMessage } from "../../src/index.js";

const SECRETS = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\bAKIA[0-9A-Z]{16}\b/g, // AWS access key id
  /\bgh[pousr]_[A-Za-z0-9]{36,255}\b/g, // GitHub
  /\bxox[abprs]-[A-Za-z0-9-]{10,}/g, // Slack
  /\bsk-[A-Za-z0-9_-]{20,}/g, // model providers
  /\beyJ[\w-]{8,999}\.eyJ[\w-]{8,}\.[\w-]{8,}/g, // JSON Web Token
  /\b[\w-]{23,28}\.[\w-]{6}\.[\w-]{27,}\b|\b\d{6,12}:[A-Za-z0-9_-]{30,}/g, // Discord and Telegram bot tokens
];
/** 13 to 16 digits, as the card networks start them; longer ones would be mistaken for Discord ids. */
const CARD_NUMBER = /(?<![\d+-])[2-6]\d{3}(?:[ -]?\d){9,12}(?![\d-])/g;

export default definePlugin({
  id: "redact",
  config: z.strictObject({
    mask: z.string().default("[redacted]"),
    /** Further texts that must never leave: code names, internal hosts. */
    words: z.array(z.string().min(3)).default([]),
  }),
  setup({ config, hooks }) {
    const mask = () => config.mask;
    const redact = (text: string) => {
      const kept = [...config.words, ...SECRETS].reduce((rest: string, secret) => rest.replaceAll(secret, mask), text);
      return kept.replace(CARD_NUMBER, (number) => (isCardNumber(number) ? config.mask : number));
    };
    hooks.registerModifying("message_sending", ({ message }) => ({ message: eachText(message, redact) }), {
      name: "outbound",
      priority: 900, // after whatever adds text
      sees: "merged",
      failurePolicy: "fail-closed",
    });
  },
});

/** The keys of a message that hold something to read. */
const READABLE = new Set(["text", "title", "footer", "name", "value", "label", "filename"]);

function eachText(message: OutboundMessage, change: (text: string) => string): OutboundMessage {
  const visit = (key: string, value: unknown) =>
    typeof value === "string" && READABLE.has(key) ? change(value) : value;
  return JSON.parse(JSON.stringify(message), visit);
}

/** Luhn's check, which one in ten of other numbers passes. */
function isCardNumber(text: string): boolean {
  const digits = [...text.replace(/\D/g, "")].reverse().map(Number);
  const weighed = digits.map((digit, i) => (i % 2 === 0 ? digit : digit * 2 > 9 ? digit * 2 - 9 : digit * 2));
  return weighed.reduce((sum, digit) => sum + digit, 0) % 10 === 0;
}
