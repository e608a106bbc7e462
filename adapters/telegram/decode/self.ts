/** Who we are on Telegram, and what an update is read against. */

export interface Self {
  botId: string;
  username: string;
  /** Names of our commands, with `-`. */
  commands: ReadonlySet<string>;
}

export interface Around {
  self: Self;
  receivedAt: number;
  /** The payload as it came. */
  raw: unknown;
}
