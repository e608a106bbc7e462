/** A file of a message that its readers did not get. */
export interface LostFile {
  name: string;
  /** The platform's id of the file; absent when only its name is known. */
  id?: string | undefined;
  /** In a few words: "larger than 20 MB". */
  why: string;
  /** The reason in the words of the network, for people with a role. */
  detail?: string | undefined;
  isTooLarge?: boolean | undefined;
}
