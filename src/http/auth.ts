/** The person who makes a request: by Bearer token (programs) or by session cookie (the page). */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { PerMinute } from "../lib/concurrency/per-minute.js";
import { HookgateError } from "../lib/errors.js";
import {
  hashOfBody,
  isSignedWith,
  proofOf,
  readSignedCall,
  SIGNATURE_LIFE_MS,
  type SignedCall,
} from "../lib/signing/signed-call.js";
import type { Clock } from "../lib/time/clock.js";
import type { FailedTokens } from "./failed-tokens.js";
import type { Guard } from "./guard.js";
import type { People, Person, PersonWithToken } from "./people.js";
import type { Session, Sessions } from "./session.js";

export interface AuthDeps {
  people: People;
  guard: Guard;
  sessions: Sessions;
  failedTokens: FailedTokens;
  perMinute: PerMinute;
  clock: Clock;
  sessionLifeMs: number;
}

export class Auth {
  readonly #deps: AuthDeps;
  readonly #started;

  constructor(deps: AuthDeps) {
    this.#deps = deps;
    this.#started = { at: deps.clock.now(), monotonic: deps.clock.monotonic() };
  }

  /** Whose request it is, before its body is read. Rejects as `need` does: for all but the body of a signed call. */
  async needHead(request: FastifyRequest): Promise<Person> {
    const call = readSignedCall(request.headers.authorization);
    return call ? this.#signerOf(request, call) : this.#personOfHead(request);
  }

  /** Rejects with UNAUTHORIZED, TOKEN_WRONG, SIGNATURE_STALE, RATE_LIMITED or ORIGIN_WRONG. */
  async need(request: FastifyRequest): Promise<Person> {
    const call = readSignedCall(request.headers.authorization);
    return call ? this.#personOfCall(request, call) : this.#personOfHead(request);
  }

  /**
   * Logs in, under another name when one is given. Rejects with TOKEN_WRONG, RATE_LIMITED, NAME_REFUSED, NAME_TAKEN, or
   * ORIGIN_WRONG for a page that is not ours.
   */
  async login(request: FastifyRequest, reply: FastifyReply, token: string, name?: string) {
    const { people, guard, sessions, failedTokens, sessionLifeMs } = this.#deps;
    // A program sends no Origin; a page of another site must not log a browser in.
    if (request.headers.origin !== undefined) guard.checkOrigin(request);
    failedTokens.check(request);
    const known = await people.byToken(token);
    // Before the session: a login whose name is refused leaves no cookie.
    const person = known && name !== undefined ? await people.rename(known.id, name) : known;
    const session = person && (await sessions.start(person.id));
    if (!person || session === undefined) throw failedTokens.failed(request, "login");
    reply.setCookie(cookieName(request), session.cookie, {
      ...cookieOptions(request),
      maxAge: Math.floor(sessionLifeMs / 1000),
    });
    return { person, pageKey: session.pageKey };
  }

  /**
   * Revokes the session; with `everywhere` all sessions of its person, which needs the key of its page (else UNAUTHORIZED). Gives whose
   * it was.
   */
  async logout(request: FastifyRequest, reply: FastifyReply, everywhere: boolean): Promise<string | undefined> {
    const { guard, sessions } = this.#deps;
    guard.checkOrigin(request);
    const session = await this.#sessionOf(request);
    // Browsers send the cookie alone to other programs of this machine, too.
    if (session && everywhere && !(await sessions.isPageKey(session, pageKeyOf(request)))) throw noPageKey();
    if (session) await sessions.end(session, everywhere);
    reply.clearCookie(cookieName(request), cookieOptions(request));
    return session?.personId;
  }

  /** For the answer to a signed call: shows the caller that this gateway has the token. Undefined for every other request. */
  proof(request: FastifyRequest, answer: { status: number; body: string }): string | undefined {
    const call = readSignedCall(request.headers.authorization);
    const signer = call && this.#findSigner(request, call);
    return call && signer && proofOf(signer.token, call.nonce, answer);
  }

  #findSigner(request: FastifyRequest, call: SignedCall): PersonWithToken | undefined {
    return this.#deps.people.signer((token) => isSignedWith(token, headOf(request), call));
  }

  #signerOf(request: FastifyRequest, call: SignedCall): PersonWithToken {
    this.#deps.failedTokens.check(request);
    const signer = this.#findSigner(request, call);
    if (signer) return signer;
    throw this.#deps.failedTokens.failed(request, "signed");
  }

  /** The person of a signed call. A call that another program caught is accepted neither twice nor by a gateway that started later. */
  async #personOfCall(request: FastifyRequest, call: SignedCall): Promise<Person> {
    const { people, failedTokens, perMinute } = this.#deps;
    const signer = this.#signerOf(request, call);
    if (hashOfBody(JSON.stringify(request.body) ?? "") !== call.bodyHash) throw failedTokens.failed(request, "signed");
    if (!this.#isFresh(call) || perMinute.add(`nonce:${call.nonce}`) > 1)
      throw new HookgateError({
        code: "SIGNATURE_STALE",
        message: `this call was signed before the gateway started, was used before, or the clocks differ by more than ${SIGNATURE_LIFE_MS / 1000} s`,
        hint: "Give the command again. On two machines, set both clocks.",
      });
    const person = await people.byId(signer.id);
    if (person) return person;
    throw failedTokens.failed(request, "signed");
  }

  #isFresh(call: SignedCall): boolean {
    const { clock } = this.#deps;
    // By the monotonic clock, so that a wall clock that is set back locks no one out for long.
    const isYoung = clock.monotonic() - this.#started.monotonic < SIGNATURE_LIFE_MS;
    return Math.abs(clock.now() - call.at) < SIGNATURE_LIFE_MS && !(isYoung && call.at < this.#started.at);
  }

  async #sessionOf(request: FastifyRequest): Promise<Session | undefined> {
    const cookie = request.cookies[cookieName(request)];
    return cookie === undefined ? undefined : this.#deps.sessions.read(cookie);
  }

  /** Finds the person by the headers. */
  async #personOfHead(request: FastifyRequest): Promise<Person> {
    const { people, guard, sessions, failedTokens } = this.#deps;
    const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
    if (bearer !== undefined) {
      failedTokens.check(request);
      const person = await people.byToken(bearer);
      if (person) return person;
      throw failedTokens.failed(request, "bearer");
    }
    const session = await this.#sessionOf(request);
    const person = session && (await people.byId(session.personId));
    if (!person)
      throw new HookgateError({
        code: "UNAUTHORIZED",
        message: "you are not logged in",
        hint: "Log in on the page, or send the token: Authorization: Bearer …",
      });
    guard.checkOrigin(request);
    if (await sessions.isPageKey(session, pageKeyOf(request))) return person;
    throw noPageKey();
  }
}

function noPageKey(): HookgateError {
  return new HookgateError({
    code: "UNAUTHORIZED",
    message: "this login lacks the key of its page",
    hint: "Log in on the page again.",
  });
}

/** In a header; in the query of requests that browsers make by themselves: live changes, pictures. */
function pageKeyOf({ headers, query }: FastifyRequest): string {
  const given = headers["x-hookgate-page"] ?? (query as Record<string, unknown>).page;
  return typeof given === "string" ? given : "";
}

function headOf({ method, url }: FastifyRequest) {
  return { method, path: url };
}

/** Cookies are shared by all ports of a host: the port keeps two Hookgates on one machine apart. */
function cookieName(request: FastifyRequest): string {
  return `hookgate_${request.socket.localPort ?? 0}`;
}

function cookieOptions(request: FastifyRequest) {
  return { path: "/", httpOnly: true, sameSite: "strict", secure: request.protocol === "https" } as const;
}
