/** The people who may log in, each with a token of their own. The names that they choose are kept; their ids never change. */
import { createHmac } from "node:crypto";
import { PLATFORMS } from "../domain/chat/platform.js";
import type { KeyValueStore } from "../domain/store.js";
import { HookgateError } from "../lib/errors.js";
import { sameSecret } from "../lib/signing/secret.js";
import { looksLike, whyBadName } from "../lib/text/person-name.js";

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
  /** The person whose token `signed` accepts. */
  signer(signed: (token: string) => boolean): PersonWithToken | undefined;
  /** Throws NAME_REFUSED, and NAME_TAKEN when people would read it as another person's name or the gateway's. */
  rename(id: string, name: string): Promise<Person | undefined>;
  /** Changes with the person's token, so that a new token ends old sessions. Undefined when there is no such person. */
  keyOf(id: string): string | undefined;
}

const SCOPE = "core:web-people";

/** `web:1`, as cards and the audit show people. */
const AS_AN_ID = new RegExp(`^\\s*(${PLATFORMS.join("|")})\\s*:`, "i");

export interface PeopleDeps {
  listed: readonly PersonWithToken[];
  /** The name of the gateway in the web chat. */
  gatewayName: string;
  names: KeyValueStore;
  sessionKey: string;
}

export function createPeople({ listed, gatewayName, names, sessionKey }: PeopleDeps): People {
  const find = (id: string) => listed.find((person) => person.id === id);
  const named = async (person: PersonWithToken): Promise<Person> => {
    const chosen = await names.get(SCOPE, person.id);
    return { id: person.id, name: typeof chosen === "string" ? chosen : person.name };
  };

  async function needFree(id: string, name: string): Promise<void> {
    const bad =
      whyBadName(name) ?? (AS_AN_ID.test(name.normalize("NFKC")) ? "has the form of a person's id" : undefined);
    if (bad !== undefined)
      throw new HookgateError({ code: "NAME_REFUSED", message: `this name ${bad}`, hint: "Choose another name." });
    const others = listed.filter((person) => person.id !== id);
    const present = await Promise.all(others.map(named));
    // The name in the configuration stays theirs too: others know them by it.
    const taken = [{ name: gatewayName, by: "the gateway" }];
    for (const other of [...others, ...present]) taken.push({ name: other.name, by: "another person" });
    const like = taken.find((one) => looksLike(one.name, name));
    if (like === undefined) return;
    throw new HookgateError({
      code: "NAME_TAKEN",
      message:
        like.name === name
          ? `"${name}" is the name of ${like.by}`
          : `"${name}" looks like "${like.name}", which is the name of ${like.by}`,
      hint: "Choose another name, so that people can distinguish you.",
    });
  }

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
      await needFree(id, name);
      await names.set(SCOPE, id, name);
      return { id, name };
    },
    keyOf(id) {
      const person = find(id);
      return person && createHmac("sha256", sessionKey).update(person.token).digest("base64url");
    },
  };
}
