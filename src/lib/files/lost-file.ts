/** A file of a message that its readers did not get. */
export interface LostFile {
  name: string;
  /** What its platform knows it by; absent: only its name is known. */
  id?: string | undefined;
  /** In a few words: "larger than 20 MB". */
  why: string;
  /** The same in the words of the network, for people with a role. */
  detail?: string | undefined;
  isTooLarge?: boolean | undefined;
}
