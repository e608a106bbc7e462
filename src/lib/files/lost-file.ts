/** A file of a message that its readers did not get. */
export interface LostFile {
  name: string;
  /** What its platform knows it by; absent: only its name is known. */
  id?: string | undefined;
  /** In a few words: "larger than 20 MB". */
  why: string;
  isTooLarge?: boolean | undefined;
}
