/** The result of one check of the doctor. */
export interface Finding {
  name: string;
  state: "ok" | "warning" | "bad";
  detail: string;
  /** A remedy. */
  hint?: string;
}
