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

  waiting(platform: string): number {
    return this.#conversations.get(platform)?.size ?? 0;
  }
}
