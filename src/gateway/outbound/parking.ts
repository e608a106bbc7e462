/** Conversations that wait for their platform to come back. They are not polled until it does, or until their first delivery expires. */
export class Parking {
  readonly #conversations = new Map<string, Set<string>>();

  park(platform: string, conversation: string): void {
    const parked = this.#conversations.get(platform);
    if (parked) parked.add(conversation);
    else this.#conversations.set(platform, new Set([conversation]));
  }

  /** All that waited for this platform; they wait no longer. */
  leave(platform: string): string[] {
    const parked = [...(this.#conversations.get(platform) ?? [])];
    this.#conversations.delete(platform);
    return parked;
  }

  /** Takes out a conversation that is woken alone. */
  leaveAlone(platform: string, conversation: string): void {
    this.#conversations.get(platform)?.delete(conversation);
  }

  /** Takes out the wanted conversation that has waited longest for this platform. */
  take(platform: string, isWanted: (conversation: string) => boolean): string | undefined {
    const parked = this.#conversations.get(platform);
    for (const conversation of parked ?? [])
      if (isWanted(conversation)) {
        parked?.delete(conversation);
        return conversation;
      }
    return undefined;
  }

  waiting(platform: string): number {
    return this.#conversations.get(platform)?.size ?? 0;
  }
}
