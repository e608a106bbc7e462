/** Roles that may read texts which quote a message. */

import type { Cause } from "../journal.js";
import type { Role } from "./identity.js";

/** A dispatch, a delivery or a run. */
export interface About {
  /** The id of the dispatch or the delivery. */
  id: string;
  cause?: Pick<Cause, "kind" | "id"> | undefined;
  payload?: unknown;
}

/** The role that may read texts about this: operator, or a higher one. */
export type RoleToHear = (of: About) => Promise<Role>;
