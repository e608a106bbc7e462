/** Reads the bytes that value-writer.ts wrote. Benchmark: bench/fast.ts (pack). */
import { ABSENT, AGAIN, FALSE, INTEGER, LIST, NEAR, NULL, NUMBER, OBJECT, SHAPED, TEXT, TRUE } from "./value-tags.js";

export class ValueReader {
  readonly bytes: Buffer;
  readonly #textAt: (place: number) => string;
  at: number;
  /** `time` and `shapes` have the values that the writer had. */
  time = 0;
  readonly shapes: (readonly number[])[] = [];

  constructor(bytes: Buffer, at: number, textAt: (place: number) => string) {
    this.bytes = bytes;
    this.#textAt = textAt;
    this.at = at;
  }

  count(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.at++] ?? 0;
      value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
  }

  text(): string {
    return this.#textAt(this.count());
  }

  /** 0 is none, and places in the table are one more than they are. */
  optionalText(): string | undefined {
    const place = this.count();
    return place === 0 ? undefined : this.#textAt(place - 1);
  }

  number(): number {
    return Number(this.value());
  }

  latency(): number {
    const begin = this.count();
    return (begin & 7) === INTEGER ? (begin >>> 3) / 1000 : this.#double();
  }

  /** Undefined for a value that JSON leaves out. */
  value(): unknown {
    const begin = this.count();
    switch (begin & 7) {
      case TEXT:
        return this.#textAt(begin >>> 3);
      case INTEGER:
        return begin >>> 3;
      case LIST:
        return this.#list(begin >>> 3);
      case OBJECT:
        return this.#object();
      case SHAPED:
        return this.#shaped(begin >>> 3);
      case NEAR:
        return this.time + (begin & 8 ? -((begin >>> 4) + 1) : begin >>> 4);
      case NUMBER:
        return this.#double();
      default:
        return begin === AGAIN ? this.#again() : single(begin);
    }
  }

  /** Past a value, without making it. */
  skip(): void {
    const begin = this.count();
    switch (begin & 7) {
      case TEXT:
      case INTEGER:
      case NEAR:
        return;
      case LIST:
        for (let left = begin >>> 3; left > 0; left--) this.skip();
        return;
      case OBJECT:
        while (this.count() !== 0) this.skip();
        return;
      case SHAPED:
        for (let left = this.shapes[begin >>> 3]?.length ?? 0; left > 0; left--) this.skip();
        return;
      case NUMBER:
        this.at += 8;
        return;
      default:
        if (begin === AGAIN) this.count();
        else single(begin);
    }
  }

  #again(): unknown {
    const start = this.at - 1;
    const first = start - this.count();
    const end = this.at;
    this.at = first;
    const value = this.value();
    this.at = end;
    return value;
  }

  #double(): number {
    this.at += 8;
    return this.bytes.readDoubleLE(this.at - 8);
  }

  #list(length: number): unknown[] {
    const list: unknown[] = [];
    for (let i = 0; i < length; i++) list.push(this.value() ?? null);
    return list;
  }

  #shaped(shape: number): object {
    const object = {};
    for (const key of this.shapes[shape] ?? []) setOwn(object, this.#textAt(key), this.value());
    return object;
  }

  #object(): object {
    const object = {};
    for (let key = this.count(); key !== 0; key = this.count()) setOwn(object, this.#textAt(key - 1), this.value());
    return object;
  }
}

/** Sets a field as JSON.parse does, also for a key that is called `__proto__`. */
function setOwn(object: object, key: string, value: unknown): void {
  if (value === undefined) return;
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

function single(begin: number): unknown {
  switch (begin) {
    case NULL:
      return null;
    case TRUE:
      return true;
    case FALSE:
      return false;
    case ABSENT:
      return undefined;
    default:
      throw new Error(`a record of the journal is damaged: it has a value that starts with ${begin}`);
  }
}
