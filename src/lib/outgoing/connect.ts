/**
 * Opens connections for outgoing requests, and only to addresses that were checked: the name is resolved once, every answer
 * is judged, and the socket goes to a judged address. A name that resolves otherwise a moment later changes nothing.
 */
import { lookup as systemLookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { Agent, buildConnector } from "undici";
import { HookgateError } from "../errors.js";
import { type Destinations, whyNotPublic } from "./destinations.js";

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<string[]>;

export const systemResolve: Resolve = async (host) =>
  (await systemLookup(host, { all: true, verbatim: true })).map(({ address }) => address);

export interface GuardedAgentOptions {
  allow: Destinations;
  /** Replaces the system's resolver. */
  resolve?: Resolve;
  connectTimeoutMs?: number;
}

/** An undici agent whose every connection is checked; to be closed by the caller. */
export function guardedAgent({
  allow,
  resolve = systemResolve,
  connectTimeoutMs = 10_000,
}: GuardedAgentOptions): Agent {
  return new Agent({
    connect(options, callback) {
      const host = options.hostname.replace(/^\[(.*)\]$/, "$1");
      const port = Number(options.port || (options.protocol === "https:" ? 443 : 80));
      const check = (addresses: string[]) => checked(host, port, addresses, allow);
      // An address needs no lookup, so none would be made: it is checked here.
      if (isIP(host) !== 0) {
        try {
          check([host]);
        } catch (error) {
          callback(error instanceof Error ? error : new Error(String(error)), null);
          return;
        }
      }
      const lookup = lookupWith(async (name) => check(await resolve(name)));
      buildConnector({ timeout: connectTimeoutMs, lookup })(options, callback);
    },
  });
}

/** The addresses, when all of them may be reached; throws OUTGOING_REFUSED when one may not. */
function checked(host: string, port: number, addresses: string[], allow: Destinations): string[] {
  if (allow.allowsHost(host, port)) return addresses;
  for (const address of addresses) {
    const why = whyNotPublic(address);
    if (why === undefined || allow.allowsAddress(address, port)) continue;
    const place = address === host ? host : `${host} (${address})`;
    throw new HookgateError({
      code: "OUTGOING_REFUSED",
      message: `${place} is not a public address: ${why}`,
      hint: "Name it under outgoing.allow when requests may go there.",
    });
  }
  return addresses;
}

/** In the form that Node's sockets ask for: one address, or all of them. */
function lookupWith(resolve: Resolve): LookupFunction {
  return (host, { all }, callback) => {
    resolve(host).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = found;
        if (!first) callback(Object.assign(new Error(`${host} has no address`), { code: "ENOTFOUND" }), "", 0);
        else if (all) callback(null, found);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, "", 0),
    );
  };
}
