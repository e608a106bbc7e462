/** A line to a server on loopback that stalls: what is sent after the first `passes` bytes of a connection arrives `stallMs` late. */
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface SlowLine {
  url: string;
  close(): void;
}

export async function slowLine(
  to: string,
  { passes, stallMs }: { passes: number; stallMs: number },
): Promise<SlowLine> {
  const target = new URL(to);
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    let passed = 0;
    let stalled = false;
    near.on("data", async (bytes) => {
      passed += bytes.length;
      near.pause();
      if (!stalled && passed > passes) {
        stalled = true;
        await sleep(stallMs);
      }
      far.write(bytes, () => near.resume());
    });
    far.pipe(near);
    for (const socket of [near, far]) socket.on("error", () => {});
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}${target.pathname}`, close: () => server.close() };
}
