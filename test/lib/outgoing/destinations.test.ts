/** Which addresses count as public, and what the allow-list lets through besides. */
import { describe, expect, it } from "vitest";
import { outgoingConfig } from "../../../src/lib/outgoing/config.js";
import { parseDestinations, whyNotPublic } from "../../../src/lib/outgoing/destinations.js";

const REFUSED = {
  "this host": ["0.0.0.0", "0.1.2.3", "::"],
  loopback: ["127.0.0.1", "127.255.255.254", "::1"],
  private: ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
  "carrier-grade NAT": ["100.64.0.1", "100.127.255.255"],
  "link-local and metadata": ["169.254.169.254", "169.254.170.2", "fe80::1", "fe80::1%eth0", "febf::1"],
  "other metadata services": ["168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"],
  "unique-local and site-local": ["fc00::1", "fdff::1", "fec0::1"],
  "multicast and broadcast": ["224.0.0.1", "239.255.255.255", "255.255.255.255", "ff02::1"],
  "reserved, documentation and benchmarks": [
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "240.0.0.1",
    "2001:db8::1",
    "3fff::1",
    "2001:2::1",
    "100::1",
    "4000::1",
    "5f00::1",
  ],
  "IPv4 mapped into IPv6": [
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:a9fe:a9fe",
    "::127.0.0.1",
    "::ffff:0:10.0.0.1",
  ],
  "IPv4 behind NAT64, 6to4 and Teredo": [
    "64:ff9b::10.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:7f00:1::1",
    "2002:808:808::1",
    "2001:0:1::1",
  ],
  "what is no address": ["", "localhost", "1", "0x7f.1", "8.8.8.8.8"],
};

describe("an address is refused when it is", () => {
  it.each(Object.entries(REFUSED))("%s", (_, addresses) => {
    for (const address of addresses) expect(whyNotPublic(address), address).toEqual(expect.any(String));
  });
});

it("public addresses pass, also those that NAT64 wraps", () => {
  for (const address of ["8.8.8.8", "100.63.255.255", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8"])
    expect(whyNotPublic(address), address).toBeUndefined();
  expect(whyNotPublic("64:ff9b::808:808")).toBeUndefined();
});

describe("the allow-list", () => {
  it("lets hosts through by name, by suffix and by port, and no look-alikes", () => {
    const allow = parseDestinations(["files.internal", "*.corp.example", "build:8080"]);
    expect(allow.allowsHost("FILES.internal.", 443)).toBe(true);
    expect(allow.allowsHost("a.b.corp.example", 80)).toBe(true);
    expect(allow.allowsHost("build", 8080)).toBe(true);
    for (const host of ["corp.example", "evilcorp.example", "files.internal.evil.example", "xfiles.internal"])
      expect(allow.allowsHost(host, 80), host).toBe(false);
    expect(allow.allowsHost("build", 80)).toBe(false);
  });

  it("lets addresses and ranges through, however they are written", () => {
    const allow = parseDestinations(["10.1.0.0/16", "127.0.0.1:4000", "[::1]:4001", "fd00::/8", "192.168.0.7"]);
    for (const address of ["10.1.255.1", "::ffff:10.1.0.1", "64:ff9b::10.1.0.1", "fd12::1", "192.168.0.7"])
      expect(allow.allowsAddress(address, 80), address).toBe(true);
    expect(allow.allowsAddress("127.0.0.1", 4000)).toBe(true);
    expect(allow.allowsAddress("::1", 4001)).toBe(true);
    for (const address of ["10.2.0.1", "127.0.0.1", "::1", "192.168.0.8", "fe80::1"])
      expect(allow.allowsAddress(address, 80), address).toBe(false);
  });

  it("refuses what it cannot read, and says what it expects", () => {
    for (const text of ["", "*", "http://x", "x/y", "10.0.0.0/33", "127.1", "0x7f000001", "a b", "x:port", "300.1.1.1"])
      expect(outgoingConfig.safeParse({ allow: [text] }).error?.issues[0]?.message, text).toContain("expected a host");
  });
});
