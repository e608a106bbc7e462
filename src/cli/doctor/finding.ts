/** One thing that the doctor looked at. */
export interface Finding {
  name: string;
  state: "ok" | "warning" | "bad";
  detail: string;
  /** What to do about it. */
  hint?: string;
}
