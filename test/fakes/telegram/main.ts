/** The fake as a process of its own: `tsx test/fakes/telegram/main.ts [--port N] [--calls] [--no-record]`. */
import { runAsProcess } from "../process.js";
import { startFakeTelegram } from "./server.js";

await runAsProcess(startFakeTelegram);
