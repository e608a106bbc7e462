/** How a title or a name is shown in a choice. */

/** Characters; the id beside it must stay readable. */
const MAX_TITLE = 48;

export function titled(text: string): string {
  const characters = [...text.replace(/\s+/g, " ").trim()];
  return characters.length <= MAX_TITLE ? characters.join("") : `${characters.slice(0, MAX_TITLE - 1).join("")}…`;
}
