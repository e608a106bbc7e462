/** Who may log in: everybody with a token of their own. The names that they choose are kept; their ids never change. */
import { createHmac } from "node:crypto";
import type { KeyValueStore } from "../domain/store.js";
import { sameSecret } from "../lib/secret.js";

export interface Person {
  /** Numeric, as text. */
  id: string;
  name: string;
}

export interface PersonWithToken extends Person {
  token: string;
}

export interface People {
  /** The person of a token; takes the same time for every wrong one. */
  byToken(token: string): Promise<Person | undefined>;
  byId(id: string): Promise<Person | undefined>;
  /** Whose token it is that `signed` accepts. */
  signer(signed: (token: string) => boolean): PersonWithToken | undefined;
  rename(id: string, name: string): Promise<Person | undefined>;
  /** Changes with the person's token, so that a new token ends old sessions. Undefined when there is no such person. */
  keyOf(id: string): string | undefined;
}

const SCOPE = "core:web-people";

export function createPeople(listed: readonly PersonWithToken[], names: KeyValueStore, sessionKey: string): People {
  const find = (id: string) => listed.find((person) => person.id === id);
  const named = async (person: PersonWithToken): Promise<Person> => {
    const chosen = await names.get(SCOPE, person.id);
    return { id: person.id, name: typeof chosen === "string" ? chosen : person.name };
  };

  return {
    async byToken(token) {
      let found: PersonWithToken | undefined;
      for (const person of listed) if (sameSecret(token, person.token)) found = person;
      return found && named(found);
    },
    async byId(id) {
      const person = find(id);
      return person && named(person);
    },
    signer: (signed) => listed.find(({ token }) => signed(token)),
    async rename(id, name) {
      const person = find(id);
      if (!person) return undefined;
      await names.set(SCOPE, id, name);
      return { id, name };
    },
    keyOf(id) {
      const person = find(id);
      return person && createHmac("sha256", sessionKey).update(person.token).digest("base64url");
    },
  };
}
