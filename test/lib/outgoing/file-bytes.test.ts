/** A file whose server cannot be reached: its readers see plain words, and operators the words of the network. */
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { parseDestinations } from "../../../src/lib/outgoing/destinations.js";
import { fileBytes, isTemporary, lostFile, missingFile } from "../../../src/lib/outgoing/file-bytes.js";

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  await new Promise<unknown>((done) => server.close(done));
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

it("a server that cannot be reached is told to readers without the words of the network", async () => {
  const url = `http://127.0.0.1:${await closedPort()}/map.png`;
  const limits = {
    maxBytes: 1_000,
    timeoutMs: 5_000,
    allow: parseDestinations(["127.0.0.1"]),
    signal: AbortSignal.timeout(5_000),
  };
  const error = await fileBytes(url, limits).catch((thrown: unknown) => thrown);
  expect(isTemporary(error)).toBe(true);
  const { line, lost } = missingFile("map.png", url, error);
  expect(line).toBe("[file: map.png could not be fetched: its server cannot be reached]");
  expect(lost).toEqual(lostFile("map.png", error));
  expect(lost.why).toBe("its server cannot be reached");
  expect(lost.detail).toMatch(/ECONNREFUSED/);
});
