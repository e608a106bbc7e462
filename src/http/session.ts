/**
 * Logins in browsers: a cookie that the server signs (person, end, id, signature), and a key that goes with it. Browsers send the cookie
 * to every port of this host, so to programs of other users, too; the page keeps the key in the storage of its own origin and sends it
 * nowhere else. A session that a logout ended is in the store until the cookie would have ended by itself.
 */
import { createHmac } from "node:crypto";
import type { KeyValueStore } from "../domain/store.js";
import { newToken } from "../lib/id.js";
import { sameSecret } from "../lib/signing/secret.js";
import type { Clock } from "../lib/time/clock.js";

export interface Session {
  personId: string;
  /** Milliseconds since the epoch. */
  endsAt: number;
  id: string;
}

export interface Sessions {
  /** The value of the cookie and the key of its pages; undefined when there is no such person. */
  start(personId: string): Promise<{ cookie: string; pageKey: string } | undefined>;
  /** The key belongs to the session's cookie. */
  isPageKey(session: Session, key: string): Promise<boolean>;
  /** The session, when it is genuine and has not ended. */
  read(cookie: string): Promise<Session | undefined>;
  /** Revokes it; with `everywhere` all sessions that the person has. */
  end(session: Session, everywhere: boolean): Promise<void>;
  /** Forgets the sessions that have ended by themselves. */
  sweep(): Promise<void>;
}

export interface SessionDeps {
  store: KeyValueStore;
  /** Changes with the person's token; undefined when there is no such person. */
  keyOf(personId: string): string | undefined;
  clock: Clock;
  lifeMs: number;
}

/** Keys: `ended:<session id>` with its end, and `round:<person id>` with a value with which all later sessions are signed besides. */
const SCOPE = "core:web-sessions";
const PAGE = "page:";
const ended = (id: string) => `ended:${id}`;
const round = (personId: string) => `round:${personId}`;

export function createSessions({ store, keyOf, clock, lifeMs }: SessionDeps): Sessions {
  async function sign({ personId, endsAt, id }: Session, purpose = ""): Promise<string | undefined> {
    const key = keyOf(personId);
    if (key === undefined) return undefined;
    const now = (await store.get(SCOPE, round(personId))) ?? "";
    return createHmac("sha256", key).update(`${purpose}${personId}.${endsAt}.${id}.${now}`).digest("base64url");
  }

  return {
    async start(personId) {
      const session = { personId, endsAt: clock.now() + lifeMs, id: newToken(12) };
      const [signature, pageKey] = await Promise.all([sign(session), sign(session, PAGE)]);
      if (signature === undefined || pageKey === undefined) return undefined;
      return { cookie: `${personId}.${session.endsAt}.${session.id}.${signature}`, pageKey };
    },
    async isPageKey(session, key) {
      const expected = await sign(session, PAGE);
      return expected !== undefined && sameSecret(key, expected);
    },
    async read(cookie) {
      const [personId, ends, id, given, ...rest] = cookie.split(".");
      if (!personId || !ends || !id || !given || rest.length > 0 || !/^\d+$/.test(ends)) return undefined;
      const session = { personId, endsAt: Number(ends), id };
      const signature = session.endsAt > clock.now() ? await sign(session) : undefined;
      if (signature === undefined || !sameSecret(given, signature)) return undefined;
      return (await store.get(SCOPE, ended(id))) === undefined ? session : undefined;
    },
    async end({ personId, endsAt, id }, everywhere) {
      if (everywhere) await store.set(SCOPE, round(personId), newToken(12));
      else await store.set(SCOPE, ended(id), endsAt);
    },
    async sweep() {
      for (const { key, value } of await store.list(SCOPE, ended("")))
        if (typeof value !== "number" || value <= clock.now()) await store.delete(SCOPE, key);
    },
  };
}
