/** A gateway that a supervisor starts again whenever it ends, and what people say and see there. */
import { setTimeout as sleep } from "node:timers/promises";
import { invoke } from "../flow/stack.js";
import { type GatewayProcess, TOKEN } from "../support/gateway-process.js";

export const ROOMS = Array.from({ length: 24 }, (_, n) => `room-${n}`);

/** As the page does it: the same nonce until the server confirms it. */
export async function say(gateway: GatewayProcess, room: string, text: string, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const answer = await fetch(`${gateway.url}/api/rooms/${room}/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ text, nonce: `nonce-${room}-${text.replaceAll(" ", "-")}` }),
    }).catch(() => undefined);
    if (answer?.ok) return;
    await sleep(20);
  }
}

/** Starts the process again whenever it ends, until `isOver`. Gives how often. */
export async function supervise(gateway: GatewayProcess, isOver: () => boolean): Promise<number> {
  let restarts = 0;
  while (!isOver()) {
    if (!gateway.running() && !isOver()) {
      restarts++;
      await gateway.start();
    }
    await sleep(20);
  }
  return restarts;
}

export interface Letters {
  letters: { id: string; box: string; status: string }[];
  inbox: Record<string, number>;
}

export const lettersOf = async (gateway: GatewayProcess) => {
  const answer = await invoke(gateway.url, "/outbox list dead").catch(() => undefined);
  return answer?.data as Letters | undefined;
};

export async function textsOf(gateway: GatewayProcess, room: string): Promise<string[]> {
  const answer = await fetch(`${gateway.url}/api/rooms/${room}/messages?limit=200`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  return ((await answer.json()) as { messages: { text: string }[] }).messages.map(({ text }) => text);
}
