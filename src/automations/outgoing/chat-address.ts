/** Where a hook speaks: an address as text, or `here` for the conversation that the event is about. */
import { z } from "zod";
import { type Address, address, parseAddress } from "../../domain/chat/address.js";
import { platformProblem } from "../../domain/chat/platform.js";
import { isTemplate } from "../template/is-template.js";

export const HERE = "here";

export const chatAddress = z.string().superRefine((text, context) => {
  if (text === HERE) return;
  if (/:\s*$/.test(text)) {
    const message = `"${text}" ends with a colon: remove the colon, or write the thread behind it`;
    context.addIssue({ code: "custom", message });
    return;
  }
  const problem =
    isTemplate(text) || parseAddress(text) !== undefined
      ? knownPlatformProblem(text)
      : `expected here, or platform:bot:chat or platform:bot:chat:thread, got "${text}"`;
  if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
});

/** An address that is used as it is written. */
export const fixedChatAddress = chatAddress.refine((text) => !isTemplate(text), {
  error: "notify.to takes no template: write an address, or here",
});

/** The problem of a platform that no template fills in. */
function knownPlatformProblem(text: string): string | undefined {
  const [platform = ""] = text.trim().split(":");
  return platform.includes("{") ? undefined : platformProblem(platform);
}

/** The place that a text names; undefined when it names none (`here`, with an event that is about no conversation). */
export function placeOf(text: string, event: Readonly<Record<string, unknown>>): Address | undefined {
  return text.trim() === HERE ? conversationOf(event) : parseAddress(text.trim());
}

/** Why a text names no place. */
export const whyNoPlace = (text: string) =>
  text.trim() === HERE ? "the event is about no conversation" : "this is no address";

/** Payloads name a conversation in `message`, `address`, or themselves. */
export function conversationOf(event: Readonly<Record<string, unknown>>): Address | undefined {
  for (const candidate of [event.message, event.address, event]) {
    const parsed = address.safeParse(candidate);
    if (parsed.success) return parsed.data;
  }
  return undefined;
}
