/** Keeps secrets out of the journal's file. Done by the writer, for a pack at once: almost always there is nothing to hide. */
import type { Pack } from "../../fast/pack/pack.js";
import { secretMask } from "../../lib/secret.js";

export function createHide(secrets: readonly (string | undefined)[]): (pack: Pack) => Pack {
  const mask = secretMask(secrets);
  // Each text stands in a line of its own, so nothing around it makes a secret look like none.
  return (pack) => (mask(pack.text) === pack.text ? pack : pack.withTexts(mask));
}
