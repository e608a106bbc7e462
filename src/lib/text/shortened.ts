/** Shortens a text in its middle: names that start alike differ at their end. */
export function shortened(text: string, max: number): string {
  const characters = [...text];
  if (characters.length <= max) return text;
  const end = Math.floor((max - 1) / 2);
  return `${characters.slice(0, max - 1 - end).join("")}…${characters.slice(-end).join("")}`;
}
