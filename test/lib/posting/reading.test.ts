/** What is read of an answer does not depend on how it was cut, on what is in it, or on what came before. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Reading } from "../../../src/lib/posting/reading.js";

interface Said {
  status: number;
  headers: [string, string][];
  body: string;
  form: "length" | "chunks" | "end";
  /** How much of the body each chunk has. */
  sizes: number[];
  informs: number[];
}

const said = fc.record<Said>({
  status: fc.integer({ min: 200, max: 599 }).filter((status) => status !== 204 && status !== 304),
  headers: fc.array(fc.tuple(fc.stringMatching(/^x-[a-zA-Z\d-]{1,9}$/), fc.stringMatching(/^[!-~]( ?[!-~]){0,19}$/)), {
    maxLength: 6,
  }),
  body: fc.string({ unit: "binary", maxLength: 400 }),
  form: fc.constantFrom("length", "chunks", "end"),
  sizes: fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 5 }),
  informs: fc.array(fc.constantFrom(100, 102, 103), { maxLength: 2 }),
});

function bytesOf({ status, headers, body, form, sizes, informs }: Said): Buffer {
  const bytes = Buffer.from(body);
  const framing = { length: `content-length: ${bytes.length}`, chunks: "Transfer-Encoding: Chunked", end: "x: y" }[
    form
  ];
  const lines = [...headers.map(([name, value]) => `${name}:  ${value} `), framing];
  const before = informs.map((code) => `HTTP/1.1 ${code} Wait\r\nlink: </a>\r\n\r\n`).join("");
  const head = Buffer.from(`${before}HTTP/1.1 ${status} Said\r\n${lines.join("\r\n")}\r\n\r\n`);
  return Buffer.concat([head, ...(form === "chunks" ? chunked(bytes, sizes) : [bytes])]);
}

function chunked(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const piece = bytes.subarray(at, at + (sizes[i % sizes.length] ?? 1));
    pieces.push(Buffer.from(`${piece.length.toString(16)};a="b"\r\n`), piece, Buffer.from("\r\n"));
    at += piece.length;
  }
  return [...pieces, Buffer.from("0\r\nx-trailer: 1\r\n\r\n")];
}

/** As a socket hands it over: in one buffer, which is overwritten. */
function read(reading: Reading, bytes: Buffer, cuts: readonly number[]): Error | undefined {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const to of [...places, bytes.length]) {
    if (to === from) continue;
    const shared = Buffer.from(bytes.subarray(from, to));
    const error = reading.read(shared, shared.length);
    shared.fill("?");
    if (error) return error;
    from = to;
  }
  return undefined;
}

const CUTS = fc.array(fc.nat(2_000), { maxLength: 12 });

it("is what was said, one answer after the other", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(said, CUTS), { minLength: 1, maxLength: 4 }), (answers) => {
      const reading = new Reading();
      for (const [answer, cuts] of answers) {
        expect(read(reading, bytesOf(answer), cuts)).toBeUndefined();
        if (answer.form === "end") {
          expect(reading.isWhole).toBe(false);
          expect(reading.endsHere()).toBe(true);
        }
        const { status, isWhole, text, headers, mayAskAgain } = reading;
        expect({ status, isWhole, text }).toEqual({ status: answer.status, isWhole: true, text: toText(answer.body) });
        for (const [name, value] of answer.headers) {
          const places = headers.flatMap((one, i) => (i % 2 === 0 && one === name ? [headers[i + 1]] : []));
          expect(places).toContain(value);
        }
        expect(mayAskAgain).toBe(answer.form !== "end");
        if (answer.form === "end") break;
        reading.clear();
      }
    }),
    { numRuns: 500 },
  );
});

/** Half a surrogate pair is no text. */
function toText(body: string): string {
  return Buffer.from(body).toString();
}

it("is not whole before it is, and what comes behind it is noticed", () => {
  fc.assert(
    fc.property(said, fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 20 }), CUTS, (answer, place, more, cuts) => {
      if (answer.form === "end") return;
      const bytes = bytesOf(answer);
      const part = new Reading();
      expect(read(part, bytes.subarray(0, place % bytes.length), cuts)).toBeUndefined();
      expect(part.isWhole || part.endsHere()).toBe(false);
      const whole = new Reading();
      const all = Buffer.concat([bytes, more]);
      whole.read(all, all.length);
      expect([whole.isWhole, whole.text, whole.mayAskAgain]).toEqual([true, toText(answer.body), false]);
    }),
    { numRuns: 500 },
  );
});

describe("whatever comes, it is an answer, an error or not all there", () => {
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc
      .array(
        fc.constantFrom(
          ..."HTTP/1.1 200 OK|HTTP/1.0 500 No|HTTP/1.1 99|\r\n|\r\n\r\n|\n|\r|content-length: 3|content-length: -1|content-length: 9e9|Content-Length: 2, 2|transfer-encoding: chunked|transfer-encoding: gzip|connection: close|: x|a b: c|3|\r\nabc\r\n|0|fffffffff|;".split(
            "|",
          ),
        ),
        { maxLength: 14 },
      )
      .map((parts) => Buffer.from(parts.join(""))),
  );
  it("is never thrown", () => {
    fc.assert(
      fc.property(noise, CUTS, (bytes, cuts) => {
        const reading = new Reading();
        const error = read(reading, bytes, cuts);
        expect(error === undefined || error instanceof Error).toBe(true);
        if (reading.isWhole) expect(reading.status).toBeGreaterThanOrEqual(200);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ["a status that is none", "HTTP/1.1 99 x\r\n\r\n"],
    ["another protocol", "HTTP/1.1 101 Switching\r\n\r\n"],
    ["another version", "HTTP/2 200\r\n\r\n"],
    ["a header without a colon", "HTTP/1.1 200 OK\r\nabc\r\n\r\n"],
    ["a header whose name ends in a blank", "HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\nok"],
    ["a header that goes on", "HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n"],
    ["a line break that is half of one", "HTTP/1.1 200 OK\r\na: b\nc: d\r\n\r\n"],
    ["a line break that is half of one, at a line's end", "HTTP/1.1 200 OK\r\na: b\n\r\n\r\n"],
    ["a first line with half a line break", "HTTP/1.1 200 OK\na: b\r\n\r\n"],
    ["a length that is none", "HTTP/1.1 200 OK\r\ncontent-length: 2x\r\n\r\nok"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2, 3\r\n\r\nok"],
    ["a chunk without its size", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n"],
    ["a chunk that is longer than it says", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabcd\r\n"],
    [
      "a chunk's first line without end",
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;${"a".repeat(90_000)}`,
    ],
  ])("%s is an error", (_what, text) => {
    expect(new Reading().read(Buffer.from(text), Buffer.byteLength(text))).toBeInstanceOf(Error);
  });
});
