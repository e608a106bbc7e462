/** A value of the configuration that cannot work, found after the schema took it. */
export interface SettingProblem {
  path: readonly (string | number)[];
  message: string;
  /** The key itself is wrong. */
  ofKey?: true | undefined;
  /** The setting may be as intended. */
  isWarning?: true | undefined;
}
