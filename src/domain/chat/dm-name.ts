/** How people call the private chat of a person. */
const PREFIX = "direct messages with ";

export const dmName = (person: string): string => `${PREFIX}${person}`;

export const isDmName = (place: string): boolean => place.startsWith(PREFIX);
