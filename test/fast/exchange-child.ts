/** A process that posts to the server of its first argument, as often as the second says, one after the other. */
import { Pool } from "undici";
import { exchange } from "../../src/fast/exchange.js";

const [origin = "", times = "1"] = process.argv.slice(2);
const pool = new Pool(origin);
for (let i = 1; i <= Number(times); i++)
  process.stdout.write(
    await exchange(pool, { path: `/last/${i}`, method: "POST", body: "{}" }).then(
      ({ body }) => `answered ${body}\n`,
      ({ isWritten, message }) => `failed, written: ${isWritten}: ${message}\n`,
    ),
  );
await pool.destroy();
