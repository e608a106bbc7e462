/** Rooms: those of the configuration, those that people add, and each person's direct conversation with the gateway. */
import type { WebChatStore, WebRoom } from "../../src/domain/store.js";
import { HookgateError } from "../../src/lib/errors.js";
import { looksLike, whyBadName } from "../../src/lib/text/person-name.js";
import { shortCopy } from "../../src/lib/text/short-copy.js";
import type { PageRoom, WebPerson } from "./port.js";
import { maySeeRoom } from "./view.js";

const MAX_ROOMS = 500;

export interface RoomsDeps {
  store: WebChatStore;
  configured: readonly { id: string; name: string }[];
  gatewayName: string;
  /** Whose direct conversations are there before they first look: alerts go there. */
  people?: readonly string[] | undefined;
  /** How many rooms one person can add. */
  perPerson: number;
}

export interface Rooms {
  /** Creates the configured rooms and the direct ones that are missing, renames those whose name changed. */
  prepare(): Promise<void>;
  list(person: WebPerson): Promise<PageRoom[]>;
  /** Rejects with ROOM_NOT_FOUND when there is no such room or it is another person's. */
  need(person: WebPerson, roomId: string): Promise<WebRoom>;
  create(person: WebPerson, name: string): Promise<PageRoom>;
  find(roomId: string): Promise<WebRoom | undefined>;
  /** The name of a configured room; the id of any other. */
  nameOf(roomId: string): string;
}

export function directRoomId(personId: string): string {
  return `dm-${personId}`;
}

export function createRooms({ store, configured, gatewayName, people = [], perPerson }: RoomsDeps): Rooms {
  const find = async (roomId: string) => (await store.rooms()).find(({ id }) => id === roomId);

  const directOf = (personId: string): WebRoom => ({
    id: directRoomId(personId),
    name: gatewayName,
    isDm: true,
    ownerId: personId,
  });

  async function visible(person: WebPerson): Promise<WebRoom[]> {
    const rooms = await store.rooms();
    const directId = directRoomId(person.id);
    if (!rooms.some(({ id }) => id === directId)) {
      const direct = directOf(person.id);
      await store.saveRoom(direct);
      rooms.push(direct);
    }
    return rooms.filter((room) => maySeeRoom(person, room)).sort((a, b) => Number(b.isDm) - Number(a.isDm));
  }

  return {
    find,
    nameOf: (roomId) => configured.find(({ id }) => id === roomId)?.name ?? roomId,

    async prepare() {
      const existing = new Map((await store.rooms()).map((room) => [room.id, room]));
      for (const { id, name } of configured)
        if (existing.get(id)?.name !== name) await store.saveRoom({ id, name, isDm: false });
      for (const person of people) if (!existing.has(directRoomId(person))) await store.saveRoom(directOf(person));
    },

    async list(person) {
      const rooms = await visible(person);
      return Promise.all(
        rooms.map(async ({ id, name, isDm }) => {
          return { id, name, isDm, lastMessageId: await store.newestId(id, person.id) };
        }),
      );
    },

    async need(person, roomId) {
      const room = (await visible(person)).find(({ id }) => id === roomId);
      if (room) return room;
      throw new HookgateError({ code: "ROOM_NOT_FOUND", message: `there is no room "${shortCopy(roomId)}"` });
    },

    async create(person, name) {
      const rooms = await store.rooms();
      const shown = name.trim().replace(/\s+/g, " ");
      if (shown === "") throw new HookgateError({ code: "TEXT_EMPTY", message: "a room needs a name" });
      const bad = whyBadName(shown);
      if (bad !== undefined) throw new HookgateError({ code: "NAME_REFUSED", message: `this name ${bad}` });
      // The gateway's own name is that of each person's direct conversation.
      const like = rooms.find((room) => looksLike(room.name, shown));
      if (like !== undefined)
        throw new HookgateError({
          code: "NAME_TAKEN",
          message:
            like.name === shown
              ? `there is a room "${shown}" already`
              : `"${shown}" looks like the room "${like.name}": choose another name`,
        });
      if (rooms.length >= MAX_ROOMS)
        throw new HookgateError({ code: "TOO_MANY_ROOMS", message: `there are ${MAX_ROOMS} rooms already` });
      const added = rooms.filter(({ isDm, ownerId }) => !isDm && ownerId === person.id).length;
      if (added >= perPerson)
        throw new HookgateError({
          code: "TOO_MANY_ROOMS",
          message: `you added ${added} rooms, and one person can add ${perPerson}`,
          hint: "Use a room that exists, or ask the owner to raise `web.rooms_per_person` in hookgate.yaml.",
        });
      const id = freeId(shown, new Set(rooms.map((room) => room.id)));
      await store.saveRoom({ id, name: shown, isDm: false, ownerId: person.id });
      return { id, name: shown, isDm: false };
    },
  };
}

/** `Night shift` → `night-shift`, `night-shift-2`, … Names in other scripts get `room`, `room-2`, … */
function freeId(name: string, taken: ReadonlySet<string>): string {
  const plain = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 36);
  const base = plain === "" || /^dm(-|$)/.test(plain) ? `room${plain === "" ? "" : `-${plain}`}` : plain;
  for (let n = 1; n <= MAX_ROOMS; n++) {
    const id = n === 1 ? base : `${base}-${n}`;
    if (!taken.has(id)) return id;
  }
  throw new HookgateError({ code: "NAME_TAKEN", message: `there are too many rooms called "${name}"` });
}
