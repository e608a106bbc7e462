import { it } from "vitest";
import { announcedOnce } from "./kill-rounds.js";

it("announces every violation once over twelve kills, and warns of none twice", () => announcedOnce(12), 240_000);
