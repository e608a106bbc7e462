/** `/outbox [list|show|retry|purge|release]`: deliveries that were not sent, messages that were not handled, and actions on them. */

import { DELIVERY_STATUSES } from "../src/domain/store.js";
import { defineCommand } from "./define.js";
import { CRASH } from "./outbox/filter.js";
import { listOutbox } from "./outbox/list.js";
import { PURGEABLE, purgeOutbox } from "./outbox/purge.js";
import { releaseDelivery } from "./outbox/release.js";
import { retryLetter } from "./outbox/retry.js";
import { showLetter } from "./outbox/show.js";

export const outbox = defineCommand({
  name: "outbox",
  group: "messages",
  summary: "Dead letters and held messages: look, send again, release, delete",
  role: "viewer",
  actions: {
    list: { summary: "Messages that were not sent or not handled", run: listOutbox },
    show: { summary: "One message in full", run: showLetter },
    retry: { summary: "Send or handle messages again", role: "operator", run: retryLetter },
    purge: { summary: "Give messages up and delete them", role: "admin", run: purgeOutbox },
    release: { summary: "Send a held message after all", role: "operator", run: releaseDelivery },
  },
  options: [
    {
      name: "id",
      summary: "A delivery, m12 for an inbox message, a status, or all",
      type: "string",
      complete: "deliveries",
      completeFor: {
        list: "words",
        release: "deliveries-to-release",
        retry: "letters-to-retry",
        purge: "letters-to-purge",
      },
      words: [...DELIVERY_STATUSES, "inbox"],
      wordsFor: {
        show: [],
        release: ["all", "held"],
        retry: ["all", "dead", "inbox"],
        purge: [...PURGEABLE, "waiting", "inbox", "all"],
      },
    },
    {
      name: "confirmed",
      summary: "release: the message did arrive, so count it as sent; retry: false when it was not handled",
      type: "boolean",
    },
    { name: "chat", summary: "Only messages of this chat, as /outbox lists it", type: "string" },
    { name: "older", summary: "Only messages that are older, such as 2h", type: "string" },
    {
      name: "reason",
      summary: "Only messages with these words in the reason; crash: also what may crash the gateway",
      type: "string",
      complete: "words",
      words: [CRASH],
    },
    { name: "yes", summary: "purge, and retry or release with reason=crash: without asking", type: "boolean" },
    {
      name: "selection",
      summary: "purge, release, retry: set by the buttons of a question, so that they decide on its messages only",
      type: "string",
    },
    { name: "reveal", summary: "show: reveal the text of the message (admins; recorded)", type: "boolean" },
    { name: "page", summary: "list: which page", type: "integer" },
  ],
});
