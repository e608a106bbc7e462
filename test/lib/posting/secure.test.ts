/** Posts over TLS, from a process that trusts a certificate of ours and from one that does not. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { expect, it, onTestFinished } from "vitest";

const FOLDER = resolve(import.meta.dirname, "../../fixtures/tls");
const CERTIFICATE = join(FOLDER, "localhost.pem");

it("reaches a server that it can trust, quicker the next time; one that it cannot is told nothing", async () => {
  const seen: string[] = [];
  let resumed = 0;
  const server = createServer(
    { cert: readFileSync(CERTIFICATE), key: readFileSync(join(FOLDER, "localhost-key.pem")) },
    (request, response) => {
      seen.push(request.url ?? "");
      response.setHeader("connection", "close").end(request.url);
    },
  );
  server.on("secureConnection", (socket) => void (socket.isSessionReused() && resumed++));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const printed = (host: string, env = {}) =>
    new Promise<string>((done) => {
      const args = [
        "--import",
        "tsx",
        resolve(import.meta.dirname, "posting-child.ts"),
        `https://${host}:${port}`,
        "3",
      ];
      execFile(process.execPath, args, { env: { ...process.env, ...env }, timeout: 40_000 }, (_error, out) =>
        done(out),
      );
    });
  expect(await printed("localhost", { NODE_EXTRA_CA_CERTS: CERTIFICATE })).toBe(
    "answered /last/1\nanswered /last/2\nanswered /last/3\n",
  );
  expect(resumed).toBe(2);
  expect(seen).toHaveLength(3);
  expect(await printed("localhost")).toMatch(/^(failed, written: false: .*self-signed certificate.*\n){3}$/);
  expect(seen).toHaveLength(3);
});
