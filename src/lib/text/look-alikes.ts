/** Letters of other alphabets that are drawn as a Latin one: what Unicode calls confusables, as far as whole names can be written with them. */

/** Each Latin letter with those that look like it, upper case apart from lower case: `В` looks like B, and `в` like no Latin letter. */
const DRAWN_ALIKE: Readonly<Record<string, string>> = {
  A: "АΑᎪ",
  B: "ВΒᏴ",
  C: "СϹᏟ",
  D: "Ꭰ",
  E: "ЕΕᎬ",
  F: "Ϝ",
  G: "ԌᏀ",
  H: "НΗᎻ",
  I: "ІӀΙ",
  J: "ЈͿᎫ",
  K: "КΚᏦ",
  L: "Ꮮ",
  M: "МΜᎷ",
  N: "Ν",
  O: "ОΟՕ0",
  P: "РΡᏢ",
  Q: "Ԛ",
  R: "Ꭱ",
  S: "ЅՏᏚ",
  T: "ТΤᎢ",
  U: "Ս",
  V: "ѴᏙ",
  W: "ԜᎳ",
  X: "ХΧ",
  Y: "УҮΥϒ",
  Z: "ΖᏃ",
  a: "аɑα",
  c: "сϲ",
  d: "ԁ",
  e: "е",
  f: "ք",
  g: "ցɡ",
  h: "һհ",
  i: "іıɩι",
  j: "јϳ",
  k: "κк",
  l: "ӏ",
  n: "ող",
  o: "оοօσ",
  p: "рρ",
  q: "ԛզ",
  s: "ѕ",
  u: "սυ",
  v: "ѵν",
  w: "ԝωա",
  x: "хχ",
  y: "уүγ",
};

const LATIN = new Map(Object.entries(DRAWN_ALIKE).flatMap(([latin, others]) => [...others].map((one) => [one, latin])));

/** I, l, 1 and | are one stroke in many fonts. */
const STROKE = "|";

/** Drawn as a small capital: each looks like its letter in both cases. */
const SMALL_CAPITALS = new Map(
  [..."ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ"].map((one, index) => [one, "abcdefghijklmnopqrstuvwyz"[index] as string]),
);

/** `ᴏtto` as `otto`. */
export function withoutSmallCapitals(text: string): string {
  return text.replace(/[^\p{ASCII}]/gu, (character) => SMALL_CAPITALS.get(character) ?? character);
}

/** Equal for texts whose letters are drawn alike, except for their case where that is drawn in another way. */
export function drawnAs(text: string): string {
  let drawn = "";
  for (const character of text.normalize("NFKC")) {
    const latin = LATIN.get(character) ?? character;
    drawn += /[Il1|]/.test(latin) ? STROKE : latin.toLowerCase();
  }
  return drawn.replace(/\p{Pd}/gu, "-").replace(/[’‘ʼ`´]/g, "'");
}
