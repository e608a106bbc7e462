/** The rooms, the person's name, and the state of the connection to the server. */
import { arrange, h, icon, iconButton } from "./dom.js";
import { askForm } from "./form.js";
import { avatar } from "./message.js";

const STATES = { online: "Connected", connecting: "Connecting…", offline: "Not connected, trying again" };

/** `on`: { open(roomId), logout() }. */
export function createSidebar({ chat, current, on }) {
  const direct = h("div", { class: "rooms" });
  const rooms = h("div", { class: "rooms" });
  const state = h("span", { class: "state" });
  const me = h("button", { type: "button", class: "me", title: "Change your name", onclick: rename });
  const element = h(
    "nav",
    { class: "sidebar", id: "sidebar", "aria-label": "Rooms" },
    h("div", { class: "brand" }, h("img", { src: "/icon.svg", alt: "", class: "logo" }), h("b", {}, "Hookgate"), state),
    h(
      "div",
      { class: "room-lists" },
      h("h2", {}, "Direct"),
      direct,
      h("h2", {}, "Rooms", iconButton("plus", "Add a room", addRoom)),
      rooms,
    ),
    h("div", { class: "foot" }, me, iconButton("out", "Log out", on.logout)),
  );

  function render() {
    const all = [...chat.rooms.values()];
    arrange(direct, all.filter(({ isDm }) => isDm).map(roomButton));
    arrange(rooms, all.filter(({ isDm }) => !isDm).map(roomButton));
    state.className = `state ${chat.connection}`;
    state.title = STATES[chat.connection];
    state.replaceChildren(h("span", { class: "sr" }, STATES[chat.connection]));
    state.setAttribute("role", "status");
    me.replaceChildren(
      avatar(chat.person),
      h("span", { class: "who" }, h("b", {}, chat.person.name), h("span", { class: "muted" }, chat.role ?? "no role")),
    );
    const unread = all.reduce((sum, room) => sum + chat.unread(room), 0);
    document.title = unread > 0 ? `(${unread}) Hookgate` : "Hookgate";
  }

  function roomButton(room) {
    const count = chat.unread(room);
    return h(
      "button",
      {
        type: "button",
        class: count > 0 ? "room unread" : "room",
        "aria-current": room.id === current() ? "page" : undefined,
        onclick: () => on.open(room.id),
      },
      room.isDm ? h("img", { src: "/icon.svg", alt: "", class: "room-icon" }) : icon("hash"),
      h("span", { class: "name" }, room.name),
      count > 0 && h("span", { class: "badge", "aria-label": `${count} unread` }, count > 99 ? "99+" : count),
    );
  }

  async function addRoom() {
    let created;
    const fields = [{ id: "name", label: "Name", required: true }];
    const sent = await askForm(
      { title: "A new room", text: "Everybody who can log in sees it.", fields, submit: "Create" },
      async ({ name }) => {
        created = await chat.createRoom(name);
      },
    );
    if (sent && created) on.open(created.id);
  }

  function rename() {
    const fields = [{ id: "name", label: "Your name", required: true, value: chat.person.name }];
    void askForm(
      { title: "Your name", text: "What others see. Your id stays the same.", fields, submit: "Save" },
      ({ name }) => chat.rename(name),
    );
  }

  chat.listen(render);
  render();
  return { element, render };
}
