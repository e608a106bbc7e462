/** One conversation: its messages and the place to write. Used for rooms and for threads alike. */
import { newNonce } from "./api.js";
import { createComposer } from "./composer.js";
import { h } from "./dom.js";
import { askForm } from "./form.js";
import { createTimeline } from "./timeline.js";

const STARTERS = ["help", "status", "whoami"];

/** `place`: { roomId, threadId? }. `onThread(message)` opens a thread. */
export function createConversation({ chat, keep, place, onThread, name }) {
  const problems = new Map();
  const composer = createComposer({
    chat,
    place,
    keep,
    placeholder: place.threadId ? "Reply in the thread" : `Message ${name}`,
    on: {
      say: (said) => chat.say({ ...place, ...said }),
      edit: (message, text, nonce) => chat.edit(message.id, text, nonce),
      editLast() {
        const mine = chat
          .messages(place.roomId, place.threadId)
          .findLast(({ author, isDeleted }) => author.id === chat.person.id && !isDeleted);
        if (mine) composer.edit(mine, newNonce());
      },
      up: () => timeline.focusLast(),
    },
  });
  const timeline = createTimeline({
    chat,
    place,
    problems,
    empty:
      place.threadId === undefined ? emptyState({ chat, room: chat.rooms.get(place.roomId), composer }) : undefined,
    onOlder: place.threadId === undefined ? () => void chat.load(place.roomId, true).catch(() => {}) : undefined,
    onRead: place.threadId === undefined ? () => chat.markRead(place.roomId) : undefined,
    act: {
      reply: (message) => composer.reply(message),
      openThread: (message) => onThread(message),
      edit: (message) => composer.edit(message, newNonce()),
      remove: (message) =>
        void askForm(
          { title: "Delete this message?", text: message.text.slice(0, 200), submit: "Delete", danger: true },
          () => chat.remove(message.id),
        ),
      react: (message, emoji, on) => attempt(message, () => chat.react(message.id, emoji, on)),
      press: (message, token, button) => press(message, token, button),
      retry: (nonce) => chat.retry(nonce),
      takeBack(nonce) {
        const back = chat.takeBack(nonce);
        if (back) composer.write(back.text);
      },
      discard: ({ nonce, text }) =>
        void askForm(
          { title: "Discard this message?", text: text.slice(0, 200), submit: "Discard", danger: true },
          async () => chat.takeBack(nonce),
        ),
      leave: () => composer.focus(),
    },
  });
  const notice = h("p", { class: "notice muted" });
  const element = h("div", { class: "conversation" }, timeline.element, notice, composer.element);
  element.addEventListener("dragover", (event) => event.preventDefault());
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer?.files.length) composer.addFiles(event.dataTransfer.files);
  });
  const render = () => timeline.render();
  const unlisten = chat.listen((what) => {
    if (what === "connection" && chat.connection === "online") composer.uploadAgain();
    if (what === "rooms") renderNotice();
    else render();
  });

  /** Where messages of this thread go; undefined while that is not known. */
  let goesTo = place.threadId === undefined ? { author: undefined, room: undefined } : undefined;
  let isAsking = false;

  async function askWhereTo() {
    if (goesTo || isAsking) return;
    isAsking = true;
    // Without an answer it is asked again when the connection is back.
    goesTo = await chat.answersTo(place.threadId).catch(() => undefined);
    isAsking = false;
    if (goesTo) renderNotice();
  }

  function renderNotice() {
    const room = chat.rooms.get(place.roomId);
    void askWhereTo();
    notice.textContent = room && goesTo ? noticeOf(chat, room, goesTo) : "";
    notice.hidden = notice.textContent === "";
  }

  /** Shows an error beside its message. */
  async function attempt(message, action) {
    try {
      await action();
      problems.delete(message.id);
    } catch (error) {
      problems.set(message.id, error.message);
    }
    render();
  }

  async function press(message, token, button) {
    button.disabled = true;
    button.classList.add("busy");
    // Each click has one nonce: a click whose answer was lost can be sent again without a second effect.
    const nonce = newNonce();
    await attempt(message, async () => {
      const answer = await patiently(() => chat.press(message.id, token, nonce));
      if (answer.form) await fillIn(message, answer);
    });
    button.disabled = false;
    button.classList.remove("busy");
  }

  function fillIn(message, { form, token }) {
    const nonce = newNonce();
    return askForm(form, (values) => patiently(() => chat.press(message.id, token, nonce, values)));
  }

  renderNotice();
  render();
  return {
    element,
    start() {
      timeline.toEnd();
      composer.focus();
    },
    /** Shows one message, wherever it is. */
    point: (messageId) => timeline.point(messageId),
    end() {
      unlisten();
      timeline.end();
    },
  };
}

/** Why messages stay unanswered here, and what to do; empty when nothing is needed. */
function noticeOf({ gatewayName, role }, { isDm, listens, takesCopies }, { author, room }) {
  if (listens === "never" && !isDm)
    return `${gatewayName} does not answer here: web.access.chats in hookgate.yaml does not list this room.`;
  if (listens === "never" && role !== null)
    return `${gatewayName} answers only commands here: web.access.dms in hookgate.yaml switches direct messages off.`;
  if (room) return `What you write here is posted in ${room}, for everyone there to read.`;
  if (author) return `What you write here is sent to ${author}.`;
  const mention = listens === "mention" ? `Mention @${gatewayName} to talk to it here.` : "";
  const how = takesCopies ? `To answer a copied message, reply to it. ${mention}`.trim() : mention;
  // In a room that is listed, and where everyone may write privately, no one needs a role to be answered.
  if (role !== null || listens !== "never") return how;
  return `${how} You have no role, so ${gatewayName} does not answer you here: send /whoami and pass the answer on to the person who runs it.`.trim();
}

/** The view of an empty room: how to talk to the gateway here, with only the commands that this person may use. */
function emptyState({ chat, room, composer }) {
  const { title, text } = invitation(chat, room);
  const lines = STARTERS.filter((name) => chat.commands.some((command) => command.name === name)).map(
    (name) => `/${name}`,
  );
  if (room.listens === "mention") lines.unshift(`@${chat.gatewayName} hello`);
  return h(
    "div",
    { class: "empty" },
    h("img", { src: "/icon.svg", alt: "", class: "logo" }),
    h("h2", {}, title),
    h("p", { class: "muted" }, text),
    h(
      "div",
      { class: "row center" },
      lines.map((line) => h("button", { type: "button", class: "button", onclick: () => composer.write(line) }, line)),
    ),
  );
}

function invitation({ gatewayName, role }, { isDm, listens, name }) {
  if (listens === "mention")
    return {
      title: `Mention @${gatewayName} to talk to it`,
      text: `In ${name}, only messages that mention @${gatewayName} reach your hooks. Commands start with / and need no mention.`,
    };
  if (listens === "always")
    return {
      title: "Say hello, or type / to see commands",
      text:
        role === null && isDm
          ? `Write your message here. What answers it, hooks or people, is up to those who run ${gatewayName}.`
          : "Every message passes through your hooks. Start with one of these:",
    };
  if (!isDm)
    return {
      title: `${gatewayName} does not answer here`,
      text: "This room is not listed under web.access.chats in hookgate.yaml.",
    };
  if (role === null)
    return {
      title: "Only operators get answers here",
      text: "You have no role yet. /whoami shows the user id that the owner needs to give you one.",
    };
  return {
    title: "Direct messages are switched off",
    text: "web.access.dms in hookgate.yaml switches them on. Commands work here nevertheless.",
  };
}

/** Tries a few times when the answer got lost or the server asked for patience. Only for requests with a nonce. */
async function patiently(action) {
  for (let tries = 1; ; tries++) {
    try {
      return await action();
    } catch (error) {
      if (!error.isPassing || tries >= 4) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** tries));
    }
  }
}
