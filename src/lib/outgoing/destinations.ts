/**
 * Where outgoing requests may go: every public address, and those that the configuration names besides. Everything that is not
 * plainly public is refused, so that a range which this file does not know is refused too.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { HookgateError } from "../errors.js";

/** Destinations that are allowed besides public addresses. */
export interface Destinations {
  /** The name itself is trusted, wherever it resolves to. */
  allowsHost(host: string, port: number): boolean;
  allowsAddress(address: string, port: number): boolean;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

type Entry =
  | { kind: "host"; host: string; isSuffix: boolean; port: number | undefined }
  | { kind: "range"; range: [Address, number]; port: number | undefined };

/** Public in number, but answered by the virtual machine's host: Azure's wire server. */
const METADATA = "168.63.129.16";
/** All that is routed on the public internet. https://www.iana.org/assignments/ipv6-address-space */
const GLOBAL_UNICAST: [Address, number] = ipaddr.parseCIDR("2000::/3");
const NOT_ROUTED: [Address, number][] = ["2001::/23", "2001:db8::/32", "3fff::/20"].map((text) =>
  ipaddr.parseCIDR(text),
);

const WORDS: Record<string, string> = {
  carrierGradeNat: "shared (carrier-grade NAT)",
  linkLocal: "link-local (where cloud metadata lives)",
  uniqueLocal: "unique-local",
};

/** Why an address is refused: `loopback`, `private`, …; undefined when it is public. */
export function whyNotPublic(address: string): string | undefined {
  const plain = plainAddress(address);
  if (!plain) return "no IP address";
  if (plain.kind() === "ipv4" && plain.toString() === METADATA) return "a cloud's metadata service";
  const range = plain.range();
  if (range !== "unicast") return WORDS[range] ?? range;
  if (plain.kind() === "ipv4") return undefined;
  const isRouted = plain.match(GLOBAL_UNICAST) && !NOT_ROUTED.some((cidr) => plain.match(cidr));
  return isRouted ? undefined : "reserved";
}

/**
 * An address in the form that decides: IPv4 that is written as mapped IPv6, or reached through NAT64 (RFC 6052), is IPv4. On
 * networks with NAT64 every name resolves to such addresses, so they are not refused as a whole.
 */
function plainAddress(address: string): Address | undefined {
  const bare = address.replace(/%.*$/, "");
  if (isIP(bare) === 0) return undefined;
  const parsed = ipaddr.process(bare);
  if (parsed instanceof ipaddr.IPv6 && parsed.range() === "rfc6052")
    return ipaddr.fromByteArray(parsed.toByteArray().slice(-4));
  return parsed;
}

/** `files.example.org`, `*.example.org`, `10.1.2.3`, `10.0.0.0/8`, `[::1]`; all but ranges may end in `:port`. Throws OUTGOING_ALLOW_INVALID. */
export function parseDestinations(texts: readonly string[]): Destinations {
  const entries = texts.map(parseEntry);
  const ofPort = (entry: Entry, port: number) => entry.port === undefined || entry.port === port;
  return {
    allowsHost(host, port) {
      const name = host.toLowerCase().replace(/\.$/, "");
      return entries.some(
        (entry) =>
          entry.kind === "host" &&
          ofPort(entry, port) &&
          (entry.isSuffix ? name.endsWith(`.${entry.host}`) : name === entry.host),
      );
    },
    allowsAddress(address, port) {
      const plain = plainAddress(address);
      if (!plain) return false;
      return entries.some(
        (entry) =>
          entry.kind === "range" &&
          ofPort(entry, port) &&
          entry.range[0].kind() === plain.kind() &&
          plain.match(entry.range),
      );
    },
  };
}

/** Nothing but public addresses. */
export const PUBLIC_ONLY: Destinations = parseDestinations([]);

function parseEntry(text: string): Entry {
  const entry = rangeEntry(text) ?? hostEntry(text);
  const isPort = entry?.port === undefined || (entry.port >= 1 && entry.port <= 65_535);
  if (entry && !isPort)
    throw new HookgateError({
      code: "OUTGOING_ALLOW_INVALID",
      message: `expected a port from 1 to 65535, got ${entry.port} in "${text}"`,
    });
  if (entry) return entry;
  throw new HookgateError({
    code: "OUTGOING_ALLOW_INVALID",
    message: `expected a host (files.example.org, *.example.org), an address (10.1.2.3, [::1]), either with :port, or a range (10.0.0.0/8), got "${text}"`,
  });
}

function rangeEntry(text: string): Entry | undefined {
  if (ipaddr.isValidCIDR(text)) return { kind: "range", range: ipaddr.parseCIDR(text), port: undefined };
  if (isIP(text) !== 0) return single(text, undefined);
  const parts = /^(?:\[(?<bracketed>[^\]]+)\]|(?<dotted>[\d.]+))(?::(?<port>\d{1,5}))?$/.exec(text)?.groups;
  const address = parts?.bracketed ?? parts?.dotted;
  if (address === undefined || isIP(address) === 0) return undefined;
  return single(address, portOf(parts?.port));
}

function single(address: string, port: number | undefined): Entry {
  const parsed = ipaddr.process(address);
  return { kind: "range", range: [parsed, parsed.kind() === "ipv4" ? 32 : 128], port };
}

/** The last label has a letter and is no hexadecimal number, so that no odd spelling of an IPv4 address passes for a name. */
function hostEntry(text: string): Entry | undefined {
  const parts =
    /^(?<star>\*\.)?(?<host>(?:[\w-]+\.)*(?!0x[\da-f]*(?::|$))(?=[\w-]*[a-z])[\w-]+)(?::(?<port>\d{1,5}))?$/i.exec(text)
      ?.groups ?? {};
  if (parts.host === undefined) return undefined;
  return { kind: "host", host: parts.host.toLowerCase(), isSuffix: parts.star !== undefined, port: portOf(parts.port) };
}

/** Why an entry allows more than anybody can mean; undefined when it does not. */
export function whyTooWide(text: string): string | undefined {
  const entry = parseEntry(text);
  if (entry.kind === "range" && entry.range[1] === 0)
    return "it allows every address, those of this machine and its network too";
  if (entry.kind === "host" && entry.isSuffix && !entry.host.includes("."))
    return `it allows every name under .${entry.host}, wherever its owner lets it point to`;
  return undefined;
}

const portOf = (text: string | undefined) => (text === undefined ? undefined : Number(text));
