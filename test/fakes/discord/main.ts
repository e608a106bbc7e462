/** The fake as a process of its own: `tsx test/fakes/discord/main.ts [--port N] [--calls] [--no-record]`. */
import { runAsProcess } from "../process.js";
import { startFakeDiscord } from "./server.js";

await runAsProcess(startFakeDiscord);
