/** One way to act as a person on any of the three platforms, so that one suite drives them all through their real clients. */

export interface Seen {
  /** The platform's id of the message. */
  id: string;
  text: string;
  /** Labels of its buttons, in order. */
  buttons: string[];
}

export interface Place {
  /** Where the suite talks: a channel, a group, a room. */
  chatId: string;
  /** A thread or topic of it, where the platform has them. */
  threadId?: string;
}

/** Who speaks: the person that the configuration made an owner, or nobody in particular. */
export type Speaker = "owner" | "stranger" | "guest";

export interface FlowPlatform {
  readonly name: "web" | "discord" | "telegram";
  /** Settings of this platform for hookgate.yaml, listening to everybody in its places. */
  readonly config: Record<string, unknown>;
  readonly env: Record<string, string>;
  /** `operators.owner` entry of the speaker "owner". */
  readonly ownerRef: string;
  /** The two chats that the suite uses, and a thread in the first. */
  readonly places: readonly [Place, Place];
  readonly thread: Place;
  botId(): string;
  /** Called when the gateway's URL is known (the web chat is the gateway itself). */
  begin(gatewayUrl: string): Promise<void>;
  end(): Promise<void>;
  /** Resolves with the message id that the platform gave. Rejects when the platform cannot take it now. `attachment`: on Discord, with its address. */
  say(
    place: Place,
    who: Speaker,
    text: string,
    facts?: { replyToId?: string; attachment?: boolean | string },
  ): Promise<string>;
  edit(place: Place, who: Speaker, messageId: string, text: string): Promise<void>;
  remove?(place: Place, who: Speaker, messageId: string): Promise<void>;
  react(place: Place, who: Speaker, messageId: string, emoji: string): Promise<void>;
  /** A command in the platform's own form. */
  command(place: Place, who: Speaker, line: string): Promise<void>;
  press(place: Place, who: Speaker, messageId: string, label: string): Promise<void>;
  /** Presses a button that asks, and gives these answers, in the platform's own way. */
  fill(place: Place, who: Speaker, messageId: string, label: string, values: Record<string, string>): Promise<void>;
  /** Short words that nobody but this person was shown, oldest first. */
  whispers(place: Place, who: Speaker): Promise<string[]>;
  /** What the gateway has posted in a place and is still there, oldest first, in its present form; private ones of `who` included. */
  seen(place: Place, who?: Speaker): Promise<Seen[]>;
  /** Private answers that reached a person outside the place (a DM). */
  seenPrivately(who: Speaker): Promise<Seen[]>;
  /** Requests with content that took effect, for the bypass proof. */
  contentCalls(): Promise<{ kind: string; text: string; messageId?: string }[]>;
}
