/** What the composition hands to SLA clocks: the truth about work, and where alerts go. */
import type { SlaParts } from "../alerts/sla/sla.js";
import type { Store } from "../domain/store.js";
import { watchedOf } from "../orchestrator/tasks/watched.js";

const PAGE = 500;

/** Tasks as clocks watch them. */
export function watchedWork({ tasks }: Pick<Store, "tasks">): Required<Pick<SlaParts, "current" | "openWork">> {
  return {
    async current(type, id) {
      const found = type === "task" ? await tasks.get(id) : undefined;
      return found && watchedOf(found);
    },
    async *openWork() {
      for (let last = ""; ; ) {
        const page = await tasks.open(last, PAGE);
        for (const task of page) yield watchedOf(task);
        last = page.at(-1)?.id ?? last;
        if (page.length < PAGE) return;
      }
    },
  };
}
