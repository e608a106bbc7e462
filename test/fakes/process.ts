/** A fake as a process of its own: prints JSON lines, is driven over `POST /__control/<operation>`, ends at SIGTERM. */
import { parseArgs } from "node:util";

interface Fake<Call> {
  port: number;
  onCall: (call: Call) => void;
  control(operation: string, args: unknown[]): unknown;
  stop(): Promise<void>;
}

/** `[--port N] [--calls] [--no-record]`: first `{"kind":"listening",…}`, with `--calls` one line a call. */
export async function runAsProcess<Call>(
  start: (options: { port: number; recordCalls: boolean }) => Promise<Fake<Call>>,
): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "0" },
      calls: { type: "boolean", default: false },
      "no-record": { type: "boolean", default: false },
    },
  });
  const print = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
  const fake = await start({ port: Number(values.port), recordCalls: !values["no-record"] });
  if (values.calls) fake.onCall = (call) => print({ kind: "call", call });
  print({ kind: "listening", port: fake.port, ...((await fake.control("facts", [])) as object) });
  process.on("SIGTERM", () => void fake.stop().then(() => process.exit(0)));
}
