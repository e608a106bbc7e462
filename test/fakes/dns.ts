/** A DNS server on loopback that answers for every name as a test scripts it, and another way a moment later if the test says so. */
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";

export interface FakeDns {
  /** Asks this server, as the system's resolver would ask its own. */
  resolve(host: string): Promise<string[]>;
  /** The addresses of each answer, in this order; the last one stays. */
  script(name: string, ...answers: string[][]): void;
  /** Names that were asked for, in order. */
  asked: string[];
  close(): Promise<void>;
}

const HEADER_BYTES = 12;
const TYPE_A = 1;

export async function fakeDns(): Promise<FakeDns> {
  const scripts = new Map<string, string[][]>();
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, from) => {
    const { name, type, end } = questionIn(query);
    if (type === TYPE_A) asked.push(name);
    const answers = scripts.get(name) ?? [];
    const addresses = type !== TYPE_A ? [] : ((answers.length > 1 ? answers.shift() : answers[0]) ?? []);
    socket.send(answerTo(query.subarray(0, end), addresses), from.port, from.address);
  });
  await new Promise<void>((bound) => socket.bind(0, "127.0.0.1", bound));
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return {
    asked,
    resolve: (host) => resolver.resolve4(host),
    script(name, ...answers) {
      scripts.set(name, answers);
      asked.length = 0;
    },
    close: () => new Promise((done) => socket.close(() => done())),
  };
}

/** https://www.rfc-editor.org/rfc/rfc1035#section-4.1.2 */
function questionIn(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** With a time to live of nothing, as those who change their answers give. */
function answerTo(question: Buffer, addresses: readonly string[]): Buffer {
  const header = Buffer.from(question.subarray(0, HEADER_BYTES));
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  header.writeUInt32BE(0, 8);
  const records = addresses.map((address) =>
    Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]),
  );
  return Buffer.concat([header, question.subarray(HEADER_BYTES), ...records]);
}
