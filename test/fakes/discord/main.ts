/**
 * The fake as a process of its own: `tsx test/fakes/discord/main.ts [--port N] [--calls] [--no-record]`. Prints JSON lines:
 * first `{"kind":"listening",…}`, with `--calls` one line a call. Driven over `POST /__control/<operation>`.
 */
import { parseArgs } from "node:util";
import { startFakeDiscord } from "./server.js";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    calls: { type: "boolean", default: false },
    "no-record": { type: "boolean", default: false },
  },
});
const print = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

const fake = await startFakeDiscord({ port: Number(values.port), recordCalls: !values["no-record"] });
if (values.calls) fake.onCall = (call) => print({ kind: "call", call });
print({ kind: "listening", port: fake.port, ...((await fake.control("facts", [])) as object) });
process.on("SIGTERM", () => void fake.stop().then(() => process.exit(0)));
