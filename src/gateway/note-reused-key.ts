/** Warns of a plugin's `once` with a key that it gave to something else before: nothing is sent, and the plugin has the id of the first. */
import { formatAddress } from "../domain/chat/address.js";
import type { NewDelivery } from "../domain/store.js";
import type { Deps } from "./deps.js";

export async function noteReusedKey(
  { id, operation, address, message }: NewDelivery,
  plugin: string,
  { store, logger, moves }: Pick<Deps, "store" | "logger" | "moves">,
): Promise<void> {
  const first = await store.outbox.get(id);
  if (first === undefined) return;
  const isElsewhere = formatAddress(moves.current(first.address)) !== formatAddress(address);
  const isOther = first.operation !== operation || first.message?.text !== message?.text;
  if (!isElsewhere && !isOther) return;
  logger.warn(
    { plugin, delivery: id, chat: formatAddress(address) },
    `plugin "${plugin}" sends with a \`once\` key that it used before for another ${isElsewhere ? "chat" : "message"}: nothing is sent, because a key counts once in all chats. Put what differs into the key.`,
  );
}
