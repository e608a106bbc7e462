/** How a value of the journal begins (value-writer.ts, value-reader.ts). Three bits; what stands above them is in brackets. */
/** [its place in the table of texts] */
export const TEXT = 0;
/** [the number itself] */
export const INTEGER = 1;
/** [how many values follow] */
export const LIST = 2;
/** Then, for each key, its place in the table plus one, and its value; then 0. */
export const OBJECT = 3;
/** Eight bytes follow. */
export const NUMBER = 4;

/** [which] */
const SINGLE = 5;
export const NULL = SINGLE;
export const TRUE = 8 + SINGLE;
export const FALSE = 16 + SINGLE;
/** What JSON leaves out: undefined, a function. */
export const ABSENT = 24 + SINGLE;

export const LARGEST_INTEGER = 2 ** 28 - 1;
