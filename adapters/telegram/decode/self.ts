/** Our own account on Telegram, and the facts with which an update is read. */

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
