/** How a title or a name is shown in a choice. */

/** Characters; the id beside it must stay readable. */
const MAX_TITLE = 48;

export function titled(text: string): string {
  return shortened(text.replace(/\s+/g, " ").trim(), MAX_TITLE);
}

/** In the middle: names that begin alike differ at their end. */
export function shortened(text: string, max: number): string {
  const characters = [...text];
  if (characters.length <= max) return text;
  const end = Math.floor((max - 1) / 2);
  return `${characters.slice(0, max - 1 - end).join("")}…${characters.slice(-end).join("")}`;
}
