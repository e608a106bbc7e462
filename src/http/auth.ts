/** Who makes a request: by Bearer token (programs) or by session cookie (the page). */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../lib/clock.js";
import { HookgateError } from "../lib/errors.js";
import type { Guard } from "./guard.js";
import type { People, Person } from "./people.js";
import { readSession, signSession } from "./session.js";

export interface Auth {
  /** Rejects with UNAUTHORIZED, TOKEN_WRONG or ORIGIN_WRONG. */
  need(request: FastifyRequest): Promise<Person>;
  login(reply: FastifyReply, token: string): Promise<Person>;
  logout(request: FastifyRequest, reply: FastifyReply): void;
}

export interface AuthParts {
  people: People;
  guard: Guard;
  clock: Clock;
  sessionLifeMs: number;
}

export function createAuth({ people, guard, clock, sessionLifeMs }: AuthParts): Auth {
  return {
    async need(request) {
      const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
      if (bearer !== undefined) {
        const person = await people.byToken(bearer);
        if (person) return person;
        throw wrongToken();
      }
      const cookie = request.cookies[cookieName(request)];
      const session = cookie === undefined ? undefined : readSession(cookie, people.keyOf, clock.now());
      const person = session && (await people.byId(session.personId));
      if (!person)
        throw new HookgateError({
          code: "UNAUTHORIZED",
          message: "nobody is logged in",
          hint: "Log in on the page, or send the token: Authorization: Bearer …",
        });
      guard.checkOrigin(request);
      return person;
    },

    async login(reply, token) {
      const person = await people.byToken(token);
      const key = person && people.keyOf(person.id);
      if (!person || key === undefined) throw wrongToken();
      const value = signSession({ personId: person.id, endsAt: clock.now() + sessionLifeMs }, key);
      reply.setCookie(cookieName(reply.request), value, {
        ...cookieOptions(reply.request),
        maxAge: Math.floor(sessionLifeMs / 1000),
      });
      return person;
    },

    logout(request, reply) {
      guard.checkOrigin(request);
      reply.clearCookie(cookieName(request), cookieOptions(request));
    },
  };
}

/** Cookies are shared by all ports of a host: the port keeps two Hookgates on one machine apart. */
function cookieName(request: FastifyRequest): string {
  return `hookgate_${request.socket.localPort ?? 0}`;
}

function cookieOptions(request: FastifyRequest) {
  return { path: "/", httpOnly: true, sameSite: "strict", secure: request.protocol === "https" } as const;
}

function wrongToken(): HookgateError {
  return new HookgateError({
    code: "TOKEN_WRONG",
    message: "this token is not known",
    hint: "It was printed at the first start; HOOKGATE_TOKEN overrides it.",
  });
}
