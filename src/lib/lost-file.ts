/** A file of a message that its readers did not get. */
export interface LostFile {
  name: string;
  /** In a few words: "larger than 20 MB". */
  why: string;
  isTooLarge?: boolean | undefined;
}
