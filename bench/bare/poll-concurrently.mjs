/** Polls so that one slow send does not hold up the others, as grammY's runner does. Never ends. */

const MOST_AT_ONCE = 500;

/** @param {import("grammy").Bot} bot */
export async function pollConcurrently(bot) {
  await bot.init();
  let offset = 0;
  let running = 0;
  for (;;) {
    while (running >= MOST_AT_ONCE) await new Promise((resolve) => setImmediate(resolve));
    const updates = await bot.api.getUpdates({ offset, limit: 100, timeout: 30 });
    for (const update of updates) {
      offset = update.update_id + 1;
      running++;
      void bot.handleUpdate(update).finally(() => running--);
    }
  }
}
