/**
 * The tags at the start of a journal's value (value-writer.ts, value-reader.ts). A tag has three bits; brackets show the content of the
 * bits above them. Benchmark: bench/fast.ts (pack).
 */
/** [its place in the table of texts] */
export const TEXT = 0;
/** [the number itself] */
export const INTEGER = 1;
/** [how many values follow] */
export const LIST = 2;
/** An object with its keys: for each, its place in the table plus one, and its value; then 0. */
export const OBJECT = 3;
/** Eight bytes follow. */
export const NUMBER = 4;

/** [which] */
const SINGLE = 5;
export const NULL = SINGLE;
export const TRUE = 8 + SINGLE;
export const FALSE = 16 + SINGLE;
/** A value that JSON leaves out: undefined, a function. */
export const ABSENT = 24 + SINGLE;
/** An object that is in this record before. Then how many bytes before this it starts. */
export const AGAIN = 32 + SINGLE;

/** An object whose keys are in the glossary of the pack. [which of the shapes there, in two bytes always] Its values follow. */
export const SHAPED = 6;
/** A large whole number, a time mostly. [how far it is from the time of the pack, twice; one less when it is before that] */
export const NEAR = 7;

export const LARGEST_INTEGER = 2 ** 28 - 1;
export const MAX_SHAPES = 2 ** 11;
