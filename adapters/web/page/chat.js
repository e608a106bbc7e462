/** The data of the page: rooms, messages, messages still to be sent. Views read it and are notified of changes. */
import { newNonce, request } from "./api.js";
import { followChanges } from "./live.js";

const HISTORY = 60;
const RETRY_MS = 3000;
const COUNTDOWN_MS = 1000;
/** How far back a link is followed. */
const MOST_PAGES_BACK = 40;

export class Chat {
  person;
  role;
  maxUploadBytes;
  maxText;
  commands = [];
  /** id → { id, name, isDm, messages: Map(id → message), loaded, more, loading, lastRead } */
  rooms = new Map();
  /** Said here and not yet confirmed: { nonce, roomId, threadId?, text, uploads, replyToId?, afterId, error?, isFinal? } */
  outgoing;
  connection = "connecting";
  #keep;
  #listeners = new Set();
  #stopLive = () => {};
  #sending = false;
  /** Why the next message is not sent yet although the server is there: { isTooFast, reason, until } */
  #delay;
  #retry;
  #onLoggedOut;

  constructor({ me, keep, onLoggedOut }) {
    Object.assign(this, {
      person: me.person,
      role: me.role,
      maxUploadBytes: me.maxUploadBytes,
      maxText: me.maxText,
      publicUrl: me.publicUrl,
    });
    this.#keep = keep;
    this.#onLoggedOut = onLoggedOut;
    this.outgoing = keep.get("outgoing", []);
  }

  /** Calls back with "rooms", "messages", "connection" or "person". Returns a function that ends it. */
  listen(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(what) {
    for (const listener of this.#listeners) listener(what);
  }

  async start() {
    const [{ commands }, seq] = await Promise.all([request("GET", "/api/commands"), this.loadRooms()]);
    this.commands = commands;
    this.#follow(seq);
    void this.#sendNext();
  }

  stop() {
    this.#stopLive();
    clearTimeout(this.#retry);
    this.#listeners.clear();
  }

  #follow(seq) {
    this.#stopLive = followChanges(seq, {
      message: (message) => this.#take(message),
      rooms: () => void this.loadRooms().catch(() => {}),
      reset: () => void this.#reload(),
      state: (state) => {
        this.connection = state;
        this.#tell("connection");
        if (state !== "online") return;
        this.#delay = undefined;
        void this.#sendNext();
        // A restart may have changed rooms, access and the role.
        void this.loadRooms().catch(() => {});
      },
      loggedOut: () => this.#onLoggedOut(),
    });
  }

  async loadRooms() {
    const [{ rooms, seq }, me] = await Promise.all([request("GET", "/api/rooms"), request("GET", "/api/me")]);
    this.role = me.role;
    this.maxText = me.maxText;
    const read = this.#keep.get("read", {});
    for (const room of rooms) {
      const known = this.rooms.get(room.id) ?? { messages: new Map(), loaded: false, more: true };
      this.rooms.set(room.id, {
        ...known,
        ...room,
        lastRead: read[room.id] ?? known.lastRead ?? room.lastMessageId ?? 0,
      });
    }
    for (const id of this.rooms.keys()) if (!rooms.some((room) => room.id === id)) this.rooms.delete(id);
    this.#tell("rooms");
    // To count the unread messages.
    for (const room of this.rooms.values())
      if (!room.loaded && (room.lastMessageId ?? 0) > room.lastRead) void this.load(room.id).catch(() => {});
    return seq;
  }

  /** The stream lost its place: everything that is shown is read again. */
  async #reload() {
    for (const room of this.rooms.values()) {
      room.messages.clear();
      room.loaded = false;
    }
    const shown = [...this.rooms.keys()];
    await this.loadRooms().catch(() => {});
    await Promise.allSettled(shown.map((id) => this.load(id)));
  }

  /** Loads the newest messages of a room, or with `older` those before the loaded ones. */
  async load(roomId, older = false) {
    const room = this.rooms.get(roomId);
    if (!room || room.loading || (room.loaded && !(older && room.more))) return;
    room.loading = true;
    try {
      const oldest = older ? Math.min(...room.messages.keys()) : undefined;
      const before = oldest === undefined || !Number.isFinite(oldest) ? "" : `&before=${oldest}`;
      const { messages, more } = await request(
        "GET",
        `/api/rooms/${encodeURIComponent(roomId)}/messages?limit=${HISTORY}${before}`,
      );
      // Messages that came live meanwhile are newer than this answer.
      for (const message of messages) if (!room.messages.has(message.id)) room.messages.set(message.id, message);
      room.loaded = true;
      room.more = more;
    } finally {
      room.loading = false;
    }
    this.#tell("messages");
    this.#tell("rooms");
  }

  /** Reads back until the message is there; undefined when it is not, or too far back. */
  async reach(roomId, messageId) {
    await this.load(roomId);
    for (let pages = 0; pages < MOST_PAGES_BACK; pages++) {
      const room = this.rooms.get(roomId);
      const found = room?.messages.get(messageId);
      if (found) return found.isDeleted ? undefined : found;
      if (!room?.more || Math.min(...room.messages.keys()) < messageId) return undefined;
      // Another call may be loading: `load` would do nothing then, so this waits and asks again.
      if (room.loading) await new Promise((resolve) => setTimeout(resolve, 100));
      else await this.load(roomId, true);
    }
    return undefined;
  }

  #take(message) {
    const room = this.rooms.get(message.roomId);
    if (!room) return void this.loadRooms().catch(() => {});
    const isKnown = room.messages.has(message.id);
    // A change to a message before the loaded part would tear a hole: it is read with its neighbours when it is scrolled to.
    const loadedFrom = room.loaded
      ? room.more
        ? Math.min(...room.messages.keys())
        : 0
      : (room.lastMessageId ?? 0) + 1;
    if (!isKnown && (message.isDeleted || message.id < loadedFrom)) return;
    if (!isKnown && message.author.id === undefined && this.#lastOwn(room)?.text.startsWith("/claim"))
      void this.loadRooms().catch(() => {}); // the answer may have come with a role
    room.messages.set(message.id, message);
    room.lastMessageId = Math.max(room.lastMessageId ?? 0, message.id);
    this.#tell("messages");
    this.#tell("rooms");
  }

  #lastOwn(room) {
    return [...room.messages.values()].findLast(({ author }) => author.id === this.person.id);
  }

  /** The name to mention in a room: that of this person's direct conversation with the gateway. */
  get gatewayName() {
    return [...this.rooms.values()].find(({ isDm }) => isDm)?.name ?? "Hookgate";
  }

  /** The messages of one conversation, in order: the room's own, or those of a thread. */
  messages(roomId, threadId) {
    const all = [...(this.rooms.get(roomId)?.messages.values() ?? [])].sort((a, b) => a.id - b.id);
    return all.filter((message) => message.threadId === threadId);
  }

  find(roomId, messageId) {
    return this.rooms.get(roomId)?.messages.get(messageId);
  }

  replies(roomId, messageId) {
    return this.messages(roomId, String(messageId)).filter((message) => !message.isDeleted);
  }

  /** Not yet confirmed and not yet seen live. */
  unconfirmed(roomId, threadId) {
    const seen = new Set([...(this.rooms.get(roomId)?.messages.values() ?? [])].map(({ nonce }) => nonce));
    return this.outgoing.filter((one) => one.roomId === roomId && one.threadId === threadId && !seen.has(one.nonce));
  }

  unread({ messages, lastRead }) {
    let count = 0;
    for (const { id, author, isDeleted } of messages.values())
      if (id > lastRead && author.id !== this.person.id && !isDeleted) count++;
    return count;
  }

  markRead(roomId) {
    const room = this.rooms.get(roomId);
    const newest = Math.max(0, ...(room?.messages.keys() ?? []));
    if (!room || newest <= room.lastRead) return;
    room.lastRead = newest;
    this.#keep.set("read", { ...this.#keep.get("read", {}), [roomId]: newest });
    this.#tell("rooms");
  }

  /** Why a text cannot be sent; undefined when it can. */
  whyTooLong({ length }) {
    if (length <= this.maxText) return undefined;
    return `a message holds ${this.maxText} characters, this one has ${length}. Send it in parts, or as a file`;
  }

  /** Why a message that is not confirmed waits while there is a connection; undefined when it is being sent. */
  whyWaits(one) {
    if (!this.#delay) return undefined;
    if (one !== this.#nextToSend()) return "Waits for the messages before it.";
    const { isTooFast, reason, until } = this.#delay;
    if (!isTooFast) return `Not sent yet: ${reason}. Trying again…`;
    return `You write too fast: sent in about ${Math.max(1, Math.ceil((until - Date.now()) / 1000))} s.`;
  }

  #nextToSend() {
    return this.outgoing.find((one) => !one.error);
  }

  say({ roomId, threadId, text, uploads, replyToId }) {
    // A refused message keeps its place, behind the messages that were there when it was written.
    const afterId = this.rooms.get(roomId)?.lastMessageId ?? 0;
    this.outgoing.push({ nonce: newNonce(), roomId, threadId, text, uploads, replyToId, afterId });
    this.#saveOutgoing();
    this.#tell("messages");
    void this.#sendNext();
  }

  /** Tries a failed one again. */
  retry(nonce) {
    const one = this.outgoing.find((candidate) => candidate.nonce === nonce);
    if (one) delete one.error;
    this.#saveOutgoing();
    this.#tell("messages");
    void this.#sendNext();
  }

  /** Takes a failed one out; gives it, so that its text can be written on. */
  takeBack(nonce) {
    const one = this.outgoing.find((candidate) => candidate.nonce === nonce);
    this.outgoing = this.outgoing.filter((candidate) => candidate !== one);
    this.#saveOutgoing();
    this.#tell("messages");
    return one;
  }

  /** Sends one message at a time, so that they arrive in the order in which they were written. */
  async #sendNext() {
    const next = this.#nextToSend();
    if (this.#sending || !next) return;
    clearTimeout(this.#retry);
    const leftMs = (this.#delay?.until ?? 0) - Date.now();
    if (leftMs > 0) {
      this.#retry = setTimeout(() => void this.#sendNext(), Math.min(leftMs, COUNTDOWN_MS));
      return this.#tell("messages");
    }
    this.#sending = true;
    try {
      const { roomId, nonce, text, threadId, replyToId, uploads } = next;
      const body = { text, nonce, threadId, replyToId, uploads: uploads.map(({ id }) => id) };
      const { message } = await request("POST", `/api/rooms/${encodeURIComponent(roomId)}/messages`, body);
      this.outgoing = this.outgoing.filter((one) => one !== next);
      this.#delay = undefined;
      this.#saveOutgoing();
      this.#take(message);
    } catch (error) {
      if (error.isLoggedOut) return this.#onLoggedOut();
      if (error.isPassing) {
        const until = Date.now() + (error.retryAfterMs ?? RETRY_MS);
        this.#delay = { isTooFast: error.code === "RATE_LIMITED", reason: error.message, until };
      } else {
        this.#delay = undefined;
        Object.assign(next, { error: error.message, isFinal: error.isFinal });
        this.#saveOutgoing();
        this.#tell("messages");
      }
    } finally {
      this.#sending = false;
    }
    void this.#sendNext();
  }

  #saveOutgoing() {
    this.#keep.set("outgoing", this.outgoing.length > 0 ? this.outgoing : undefined);
  }

  /** The rest answers at once or fails: the caller shows the failure where it happened. */
  async edit(messageId, text, nonce) {
    this.#take((await request("PATCH", `/api/messages/${messageId}`, { text, nonce })).message);
  }

  async remove(messageId) {
    this.#take((await request("DELETE", `/api/messages/${messageId}`)).message);
  }

  async react(messageId, emoji, on) {
    this.#take((await request("PUT", `/api/messages/${messageId}/reactions`, { emoji, on })).message);
  }

  press(messageId, token, nonce, values) {
    return request("POST", `/api/messages/${messageId}/press`, { token, nonce, values });
  }

  /** `{ author, room? }` when a reply to this message, or a thread on it, goes there. */
  answersTo(messageId) {
    return request("GET", `/api/messages/${messageId}/answers-to`);
  }

  upload(file) {
    return request("POST", `/api/uploads?filename=${encodeURIComponent(file.name || "file")}`, file).then(
      ({ upload }) => upload,
    );
  }

  async createRoom(name) {
    const { room } = await request("POST", "/api/rooms", { name });
    await this.loadRooms();
    return room;
  }

  async rename(name) {
    this.person = (await request("PATCH", "/api/me", { name })).person;
    this.#tell("person");
  }
}
