/** The messages of one conversation, oldest first: keeps its place while things come in above and below. */
import { arrange, h, icon } from "./dom.js";
import { avatar, messageElement, shorten } from "./message.js";

const NEAR_PX = 80;
const SAME_BREATH_MS = 5 * 60_000;

/**
 * `place`: { roomId, threadId? }. `act`: see message.js, and { retry, takeBack, discard } for unsent ones. `problems`: message id → text.
 * `empty`: an element to show when there is nothing.
 */
export function createTimeline({ chat, place, act, problems, empty, onOlder, onRead }) {
  const list = h("div", { class: "messages", role: "log", "aria-label": place.threadId ? "Thread" : "Messages" });
  const jump = h(
    "button",
    { type: "button", class: "jump", hidden: true, onclick: () => toEnd() },
    icon("down"),
    "New messages",
  );
  const scroller = h("div", { class: "scroller", tabindex: "0", "aria-label": "Conversation" }, list);
  const element = h("div", { class: "timeline" }, scroller, jump);
  /** key → { signature, element } */
  const shown = new Map();
  let isAtEnd = true;
  let newest = 0;
  /** The nonce of the last message that was written here and is on its way. */
  let lastSaid;

  let top = 0;
  scroller.addEventListener("scroll", () => {
    const isUp = scroller.scrollTop < top;
    top = scroller.scrollTop;
    // Only a person scrolls up. The event of our own scrolling may come when a picture has made the list longer already.
    const isNear = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_PX;
    isAtEnd = isNear || (isAtEnd && !isUp);
    if (isAtEnd) seen();
    if (scroller.scrollTop < NEAR_PX && scroller.scrollHeight > scroller.clientHeight) onOlder?.();
  });
  // Pictures grow when they arrive.
  list.addEventListener("load", () => isAtEnd && toEnd(), true);
  const resize = new ResizeObserver(() => isAtEnd && toEnd());
  resize.observe(scroller);
  resize.observe(list);
  list.addEventListener("keydown", walk);

  function toEnd() {
    scroller.scrollTop = scroller.scrollHeight;
    isAtEnd = true;
    seen();
  }

  function point(messageId) {
    const element = list.querySelector(`.message[data-id="${messageId}"]`);
    if (!element) return;
    isAtEnd = false;
    element.scrollIntoView({ block: "center" });
    element.focus({ preventScroll: true });
    element.classList.add("pointed");
    setTimeout(() => element.classList.remove("pointed"), 2500);
  }

  function seen() {
    jump.hidden = true;
    if (!document.hidden) onRead?.();
  }

  /** Arrow keys go from message to message; Escape goes back to writing. */
  function walk(event) {
    const current = event.target.closest(".message");
    if (!current || !["ArrowUp", "ArrowDown", "Escape"].includes(event.key)) return;
    if (event.target.closest(".palette")) return;
    event.preventDefault();
    if (event.key === "Escape") return act.leave?.();
    const all = [...list.querySelectorAll(".message")];
    const next = all[all.indexOf(current) + (event.key === "ArrowUp" ? -1 : 1)];
    if (next) next.focus();
    else if (event.key === "ArrowDown") act.leave?.();
  }

  function render() {
    const root = place.threadId === undefined ? undefined : chat.find(place.roomId, Number(place.threadId));
    const messages = [...(root ? [root] : []), ...chat.messages(place.roomId, place.threadId)];
    const unconfirmed = chat.unconfirmed(place.roomId, place.threadId);
    const last = messages.at(-1);
    const isNew = last !== undefined && last.id > newest;
    newest = Math.max(newest, last?.id ?? 0);
    const fromEnd = scroller.scrollHeight - scroller.scrollTop;
    const firstBefore = list.querySelector(".message[data-id]")?.dataset.id;

    const refused = unconfirmed.filter(({ error }) => error);
    const waiting = unconfirmed.filter(({ error }) => !error);
    const elements = messages.flatMap((message, index) => {
      const before = messages[index - 1];
      const between = refused.filter(({ afterId }) => afterId < message.id && afterId >= (before?.id ?? 0));
      return [
        ...between.map(refusedElement),
        ...dayBreak(before, message),
        keyed(message, between.length > 0 ? undefined : before),
      ];
    });
    const lately = refused.filter(({ afterId }) => afterId === undefined || afterId >= (last?.id ?? 0));
    const isMineLast =
      lately.length > 0 || (last !== undefined && last.author.id === chat.person.id && last.id !== root?.id);
    const atEnd = [
      ...lately.map(refusedElement),
      ...waiting.map((one, index) => waitingElement(one, index > 0 || isMineLast)),
    ];
    const isEmpty = elements.length + atEnd.length === 0;
    arrange(list, isEmpty && empty ? [empty] : [...elements, ...atEnd]);

    const grewAbove = firstBefore !== undefined && list.querySelector(".message[data-id]")?.dataset.id !== firstBefore;
    const said = waiting.at(-1)?.nonce ?? lastSaid;
    if (isAtEnd || said !== lastSaid) toEnd();
    else if (grewAbove) scroller.scrollTop = scroller.scrollHeight - fromEnd;
    else if (isNew) jump.hidden = false;
    lastSaid = said;
    // The loaded messages may be in threads, or too few to fill the view: a person cannot scroll up for more then.
    if (scroller.clientHeight > 0 && scroller.scrollHeight <= scroller.clientHeight) onOlder?.();
  }

  function keyed(message, before) {
    const isContinued =
      before !== undefined &&
      before.author.id === message.author.id &&
      message.at - before.at < SAME_BREATH_MS &&
      message.replyToId === undefined &&
      new Date(before.at).toDateString() === new Date(message.at).toDateString();
    const facts = {
      message,
      isContinued,
      isMine: message.author.id === chat.person.id,
      personId: chat.person.id,
      replyTo: message.replyToId === undefined ? undefined : chat.find(message.roomId, message.replyToId),
      replies: place.threadId === undefined ? chat.replies(message.roomId, message.id) : [],
      inThread: place.threadId !== undefined,
      problem: problems.get(message.id),
    };
    const signature = JSON.stringify([facts, facts.replies.length]);
    return remembered(`message ${message.id}`, signature, () => messageElement(facts, act));
  }

  function remembered(key, signature, make) {
    const known = shown.get(key);
    if (known?.signature === signature) return known.element;
    const hadFocus = known?.element.contains(document.activeElement);
    const made = make();
    shown.set(key, { signature, element: made });
    if (hadFocus) queueMicrotask(() => made.focus({ preventScroll: true }));
    return made;
  }

  function dayBreak(before, { at }) {
    const day = new Date(at).toDateString();
    if (before && new Date(before.at).toDateString() === day) return [];
    const name =
      day === new Date().toDateString()
        ? "Today"
        : new Date(at).toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" });
    return [remembered(`day ${day}`, name, () => h("div", { class: "day", role: "separator" }, h("span", {}, name)))];
  }

  function waitingElement(one, isContinued) {
    const state =
      chat.connection === "online"
        ? (chat.whyWaits(one) ?? "Sending…")
        : "Not sent yet. It is sent when the connection is back.";
    const element = remembered(`waiting ${one.nonce}`, `${isContinued} ${chat.person.name}`, () =>
      unsentElement(one, isContinued, h("p", { class: "muted delay", "aria-live": "off" })),
    );
    // In place: a new element every second would be read out every second.
    const shownState = element.querySelector(".delay");
    if (shownState.textContent !== state) shownState.textContent = state;
    return element;
  }

  /** Folded: a long one would hide the messages after it. */
  function refusedElement(one) {
    const { nonce, error, isFinal } = one;
    const button = (label, onclick) => h("button", { type: "button", class: "link", onclick }, label);
    return remembered(`refused ${nonce}`, `${error} ${isFinal} ${chat.person.name}`, () =>
      unsentElement(
        one,
        false,
        h(
          "p",
          { class: "problem", role: "alert" },
          `Not sent: ${error}. `,
          !isFinal && button("Try again", () => act.retry(nonce)),
          button("Edit", () => act.takeBack(nonce)),
          button("Discard", () => act.discard(one)),
        ),
      ),
    );
  }

  function unsentElement({ text, uploads, error }, isContinued, state) {
    const { name } = chat.person;
    const classes = ["message", "waiting", error && "refused", isContinued && "continued"];
    return h(
      "article",
      { class: classes.filter(Boolean).join(" "), "aria-label": `${name}: ${shorten(text)}` },
      isContinued ? h("span", { class: "gutter" }) : avatar(chat.person),
      h(
        "div",
        { class: "content" },
        !isContinued && h("header", {}, h("span", { class: "author" }, name)),
        h("p", { class: "text raw" }, text),
        uploads.map(({ filename }) => h("p", { class: "muted" }, filename)),
        state,
      ),
    );
  }

  return {
    element,
    render,
    toEnd,
    point,
    /** Puts the keyboard on the newest message. */
    focusLast: () => [...list.querySelectorAll(".message[data-id]")].at(-1)?.focus(),
    end: () => resize.disconnect(),
  };
}
