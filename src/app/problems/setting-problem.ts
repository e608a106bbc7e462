/** A value of the configuration that cannot work, found after the schema took it. */
export interface SettingProblem {
  path: readonly (string | number)[];
  message: string;
  /** It is the key that is wrong. */
  ofKey?: true | undefined;
  /** What it is about may be as intended. */
  isWarning?: true | undefined;
}
