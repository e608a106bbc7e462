import { it } from "vitest";
import { announcedOnce } from "./kill-rounds.js";

// `npm run soak` kills more often.
it("announces every violation once over kills, and warns of none twice", () => announcedOnce(3), 120_000);
