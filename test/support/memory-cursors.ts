/** Cursors without a store. */
import type { CursorStore } from "../../src/domain/chat/adapter.js";

/** Cursors that outlive an adapter, as the store's do. */
export class MemoryCursors implements CursorStore {
  readonly map = new Map<string, string>();
  writes = 0;

  get(key: string): string | undefined {
    return this.map.get(key);
  }

  async set(key: string, value: string | undefined): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.writes++;
    if (value === undefined) this.map.delete(key);
    else this.map.set(key, value);
  }

  list(prefix: string): { key: string; value: string }[] {
    return [...this.map].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key, value }));
  }
}
