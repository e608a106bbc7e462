/** One message as an element. Shows the actions that a person may take; does nothing itself. */
import { withPageKey } from "./api.js";
import { h, icon, iconButton } from "./dom.js";

const EMOJI = ["👍", "❤️", "😂", "🎉", "👀", "✅"];
const HUES = [250, 200, 160, 120, 30, 350, 310, 280];

/**
 * `facts`: { message, isContinued, isMine, personId, replyTo?, replies, inThread, problem? }.
 * `act`: { reply, openThread, edit, remove, react, press } with the message.
 */
export function messageElement({ message, isContinued, isMine, personId, replyTo, replies, inThread, problem }, act) {
  const classes = [
    "message",
    isContinued && "continued",
    message.isPrivate && "private",
    message.isDeleted && "deleted",
  ];
  const element = h(
    "article",
    { class: classes.filter(Boolean).join(" "), tabindex: "-1", "data-id": message.id, "aria-label": labelOf(message) },
    isContinued
      ? h(
          "time",
          { class: "gutter", datetime: isoOf(message.at), title: new Date(message.at).toLocaleString() },
          shortTimeOf(message.at),
        )
      : avatar(message.author),
    h(
      "div",
      { class: "content" },
      !isContinued &&
        h(
          "header",
          {},
          h("span", { class: "author" }, message.author.name),
          message.author.id === undefined && h("span", { class: "tag" }, "gateway"),
          h("time", { datetime: isoOf(message.at), title: new Date(message.at).toLocaleString() }, timeOf(message.at)),
        ),
      message.isPrivate && h("div", { class: "only-you" }, icon("lock"), "Only you can see this"),
      replyTo &&
        h(
          "div",
          { class: "reply-to" },
          icon("reply"),
          h("b", {}, replyTo.author.name),
          h("span", {}, shorten(replyTo.text)),
        ),
      message.isDeleted ? h("p", { class: "muted" }, "This message was deleted.") : bodyOf(message),
      // A card of the gateway is refreshed, which is no news to its reader.
      message.editedAt &&
        !message.isDeleted &&
        !(message.card && message.author.id === undefined) &&
        h("span", { class: "edited", title: new Date(message.editedAt).toLocaleString() }, "(edited)"),
      message.buttons && buttonRows(message, act),
      problem && h("p", { class: "problem", role: "alert" }, problem),
      reactionsOf(message, personId, act),
      !inThread &&
        replies.length > 0 &&
        h(
          "button",
          { type: "button", class: "thread-link", onclick: () => act.openThread(message) },
          icon("thread"),
          replies.length === 1 ? "1 reply" : `${replies.length} replies`,
          h("span", { class: "muted" }, `last ${timeOf(replies.at(-1).at)}`),
        ),
    ),
    !message.isDeleted && toolbar(message, { isMine, inThread }, act),
  );
  return withLocalTimes(element);
}

export function avatar(author) {
  if (author.id === undefined) return h("img", { class: "avatar", src: "/icon.svg", alt: "" });
  const initials = author.name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => [...word][0] ?? "")
    .join("")
    .toUpperCase();
  // A class and no style attribute: the page's policy allows styles from files only.
  return h(
    "span",
    { class: `avatar hue-${HUES[Number(author.id) % HUES.length]}`, "aria-hidden": "true" },
    initials || "?",
  );
}

export function timeOf(at) {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return isToday ? time : `${date.toLocaleDateString([], { day: "numeric", month: "short" })}, ${time}`;
}

/** For the narrow column beside a message: on the same clock as everywhere, without its AM or PM. */
function shortTimeOf(at) {
  const parts = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit" }).formatToParts(at);
  return parts
    .filter(({ type }) => type !== "dayPeriod")
    .map(({ value }) => value)
    .join("")
    .trim();
}

function isoOf(at) {
  return new Date(at).toISOString();
}

function labelOf({ author, text, isDeleted }) {
  return isDeleted ? `${author.name}: deleted` : `${author.name}: ${shorten(text)}`;
}

export function shorten(text) {
  return text.length > 120 ? `${text.slice(0, 117)}…` : text;
}

/** Moments in a text, as its reader's clock shows them. */
function withLocalTimes(element) {
  for (const time of element.querySelectorAll(".text time[datetime]")) {
    const at = new Date(time.dateTime);
    time.title = time.textContent;
    time.textContent = at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  }
  return element;
}

function bodyOf({ html, card, attachments }) {
  return [
    html && h("div", { class: "text", html }),
    card && cardElement(card),
    attachments && h("div", { class: "files" }, attachments.map(fileElement)),
  ];
}

function cardElement({ title, url, html, tone = "neutral", fields, footer }) {
  const heading = title && (url ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, title) : title);
  return h(
    "section",
    { class: `card tone-${tone}` },
    heading && h("h3", {}, heading),
    html && h("div", { class: "text", html }),
    fields &&
      h(
        "dl",
        {},
        fields.map((field) =>
          h(
            "div",
            { class: field.inline ? "inline" : "" },
            h("dt", {}, field.name),
            h("dd", { class: "text", html: field.html }),
          ),
        ),
      ),
    footer && h("footer", {}, footer),
  );
}

function fileElement({ type, url: path, filename, mimeType, sizeBytes }) {
  const url = withPageKey(path);
  if (type === "image")
    return h(
      "a",
      { href: url, target: "_blank", rel: "noopener" },
      h("img", { class: "picture", src: url, alt: filename, loading: "lazy" }),
    );
  if (type === "audio") return h("audio", { src: url, controls: true, preload: "none", "aria-label": filename });
  if (type === "video") return h("video", { src: url, controls: true, preload: "none", "aria-label": filename });
  return h(
    "a",
    { class: "file", href: url, download: filename },
    icon("file"),
    h("span", {}, filename),
    h("span", { class: "muted" }, sizeBytes === undefined ? mimeType : sizeOf(sizeBytes)),
  );
}

export function sizeOf(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function buttonRows(message, act) {
  return h(
    "div",
    { class: "buttons" },
    message.buttons.map((row) =>
      h(
        "div",
        { class: "row" },
        row.map(({ label, style = "secondary", url, token }) =>
          url
            ? h("a", { class: "button", href: url, target: "_blank", rel: "noopener noreferrer" }, label, icon("link"))
            : h(
                "button",
                {
                  type: "button",
                  class: `button ${style}`,
                  disabled: token === undefined,
                  onclick: (event) => act.press(message, token, event.currentTarget),
                },
                label,
              ),
        ),
      ),
    ),
  );
}

function reactionsOf(message, personId, act) {
  if (!message.reactions?.length) return undefined;
  return h(
    "div",
    { class: "reactions" },
    message.reactions.map(({ emoji, userIds }) => {
      const isMine = userIds.includes(personId);
      return h(
        "button",
        {
          type: "button",
          class: isMine ? "reaction mine" : "reaction",
          "aria-pressed": String(isMine),
          "aria-label": `${emoji} ${userIds.length}`,
          onclick: () => act.react(message, emoji, !isMine),
        },
        emoji,
        h("span", {}, userIds.length),
      );
    }),
  );
}

function toolbar(message, { isMine, inThread }, act) {
  const palette = h(
    "div",
    { class: "palette", role: "menu", hidden: true },
    EMOJI.map((emoji) =>
      h(
        "button",
        {
          type: "button",
          role: "menuitem",
          "aria-label": `React ${emoji}`,
          onclick: () => act.react(message, emoji, true),
        },
        emoji,
      ),
    ),
  );
  const react = iconButton("smile", "React", () => {
    palette.hidden = !palette.hidden;
    if (!palette.hidden) palette.firstChild.focus();
  });
  palette.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    palette.hidden = true;
    react.focus();
  });
  return h(
    "div",
    { class: "toolbar", role: "toolbar", "aria-label": "Message actions" },
    palette,
    react,
    iconButton("reply", "Reply", () => act.reply(message)),
    !inThread &&
      message.threadId === undefined &&
      iconButton("thread", "Reply in thread", () => act.openThread(message)),
    isMine && iconButton("edit", "Edit", () => act.edit(message)),
    isMine && iconButton("trash", "Delete", () => act.remove(message)),
  );
}
