/** The page: logs in, then shows a room beside the list of rooms, and a thread beside the room. */
import { login, request } from "./api.js";
import { Chat } from "./chat.js";
import { createConversation } from "./conversation.js";
import { h, iconButton } from "./dom.js";
import { createKeep } from "./keep.js";
import { showLogin } from "./login.js";
import { createSidebar } from "./sidebar.js";

const OFFLINE = "Connection lost. Reconnecting… Your messages are kept and sent when the connection is back.";

const root = /** @type {HTMLElement} */ (document.getElementById("app"));
/** The printed link carries the token behind `#`, which browsers do not send. */
const isLink = () => location.hash.startsWith("#token=");
let linkToken = isLink() ? safelyDecoded(location.hash.slice("#token=".length)) : undefined;
if (linkToken) history.replaceState(null, "", location.pathname);
/** Pasted into the address bar of the open page, which changes nothing else: opened as in a new tab. */
addEventListener("hashchange", () => isLink() && location.reload());

async function boot(notice) {
  let me;
  try {
    me = await request("GET", "/api/me");
  } catch (error) {
    if (error.isLoggedOut) return logIn(notice);
    return showUnreachable(error);
  }
  const keep = createKeep(me.person.id);
  const chat = new Chat({
    me,
    keep,
    onLoggedOut() {
      chat.stop();
      void boot("You were logged out. The text that you wrote is kept. Attach files that you had not sent again.");
    },
  });
  try {
    await chat.start();
  } catch (error) {
    chat.stop();
    return showUnreachable(error);
  }
  showChat(chat, keep);
}

/** By the token of the printed link, once; else by the form. */
async function logIn(notice) {
  const token = linkToken;
  linkToken = undefined;
  if (token !== undefined)
    try {
      await login({ token });
      return boot();
    } catch (error) {
      notice = error.isLoggedOut
        ? "This link's token is not valid any more. Run npx hookgate token to see the present one."
        : `${error.message}.`;
    }
  showLogin(root, { notice, done: () => boot() });
}

function showUnreachable(error) {
  root.replaceChildren(
    h(
      "main",
      { class: "login-page" },
      h(
        "div",
        { class: "login card-box", role: "alert" },
        h("h1", {}, "Not connected"),
        h("p", {}, `${error.message}.`),
        h("button", { type: "button", class: "button primary", onclick: () => boot() }, "Try again"),
      ),
    ),
  );
}

function showChat(chat, keep) {
  let roomId;
  let room;
  let thread;
  const title = h("h1", {});
  const about = h("span", { class: "muted about" });
  const line = h("div", { class: "line", role: "status", hidden: true });
  const main = h("main", { class: "room-pane" });
  const aside = h("aside", { class: "thread-pane", "aria-label": "Thread", hidden: true });
  const shade = h("div", { class: "shade", onclick: () => showSidebar(false) });
  const sidebar = createSidebar({
    chat,
    current: () => roomId,
    on: { open: openRoom, logout: () => void request("POST", "/api/logout").finally(() => location.reload()) },
  });
  const menu = iconButton("menu", "Rooms", () => showSidebar(true), {
    class: "icon-button menu",
    "aria-expanded": "false",
    "aria-controls": sidebar.element.id,
  });
  const header = h("header", { class: "top" }, menu, title, about);
  const frame = h("div", { class: "frame" }, sidebar.element, shade, main, aside);

  /** On a narrow page, where it lies above the conversation. The keyboard goes into it, and back to its button. */
  function showSidebar(on) {
    if (frame.classList.contains("with-sidebar") === on) return;
    frame.classList.toggle("with-sidebar", on);
    menu.setAttribute("aria-expanded", String(on));
    (on ? sidebar.element.querySelector("[aria-current]") : menu)?.focus();
  }

  function openRoom(id) {
    showSidebar(false);
    const next = chat.rooms.get(id) ?? [...chat.rooms.values()][0];
    if (!next) return;
    if (next.id === roomId) return room.start();
    closeThread();
    room?.end();
    roomId = next.id;
    title.textContent = next.name;
    about.textContent = next.isDm ? `Only you and ${chat.gatewayName}` : "";
    room = createConversation({ chat, keep, place: { roomId }, onThread: openThread, name: next.name });
    main.replaceChildren(header, line, room.element);
    history.replaceState(null, "", `#${encodeURIComponent(roomId)}`);
    sidebar.render();
    room.start();
    chat
      .load(roomId)
      .then(() => chat.markRead(roomId))
      .catch((error) => showLine(error.message));
  }

  function openThread(message) {
    closeThread();
    thread = createConversation({
      chat,
      keep,
      place: { roomId, threadId: String(message.id) },
      onThread: () => {},
      name: "thread",
    });
    aside.replaceChildren(
      h("header", { class: "top" }, h("h1", {}, "Thread"), iconButton("close", "Close thread (Esc)", leaveThread)),
      thread.element,
    );
    aside.hidden = false;
    thread.start();
  }

  function closeThread() {
    thread?.end();
    thread = undefined;
    aside.hidden = true;
    aside.replaceChildren();
  }

  function leaveThread() {
    closeThread();
    room.start();
  }

  function showLine(text) {
    line.hidden = !text;
    line.textContent = text ?? "";
  }

  /** `#room` or `#room/message`: the room, and the message in it or in its thread. */
  function openPlace(hash) {
    const [id = "", messageId] = hash.replace(/^#/, "").split("/");
    openRoom(safelyDecoded(id));
    if (!/^\d+$/.test(messageId ?? "") || roomId !== safelyDecoded(id)) return;
    void chat
      .reach(roomId, Number(messageId))
      .then((message) => {
        if (!message) return showLine("That message is not here any more.");
        if (message.threadId === undefined) return room.point(message.id);
        const root = chat.find(roomId, Number(message.threadId));
        if (root) openThread(root);
        thread?.point(message.id);
      })
      .catch((error) => showLine(error.message));
  }

  /** A link to a message here is followed in this page, by any name under which the gateway is called. */
  document.addEventListener("click", (event) => {
    /** @type {HTMLAnchorElement | null | false} */
    const link = event.target instanceof Element && event.target.closest("a[href]");
    if (!link || event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || !isHere(link)) return;
    event.preventDefault();
    openPlace(link.hash);
  });
  addEventListener("hashchange", () => isLink() || openPlace(location.hash));

  function isHere({ origin, pathname, hash, hostname, port }) {
    if (pathname !== "/" || !/^#[^=]+\/\d+$/.test(hash)) return false;
    const isLoopback = (name) => ["localhost", "127.0.0.1", "[::1]"].includes(name);
    return (
      origin === location.origin ||
      (chat.publicUrl && origin === new URL(chat.publicUrl).origin) ||
      (isLoopback(hostname) && isLoopback(location.hostname) && port === location.port)
    );
  }

  /** A short break is not worth a word. */
  let breakTimer;
  chat.listen((what) => {
    if (what === "connection") {
      clearTimeout(breakTimer);
      if (chat.connection === "online") showLine();
      else breakTimer = setTimeout(() => showLine(OFFLINE), chat.connection === "offline" ? 0 : 1500);
    }
    if (what === "rooms" && !chat.rooms.has(roomId)) openRoom(roomId);
  });

  frame.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) {
      if (frame.classList.contains("with-sidebar")) showSidebar(false);
      else if (thread) leaveThread();
    }
    if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    const ids = [...chat.rooms.keys()];
    openRoom(ids[(ids.indexOf(roomId) + (event.key === "ArrowDown" ? 1 : ids.length - 1)) % ids.length]);
  });
  document.addEventListener("visibilitychange", () => !document.hidden && chat.markRead(roomId));

  root.replaceChildren(frame);
  openPlace(location.hash);
}

function safelyDecoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

void boot();
