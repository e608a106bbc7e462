/** Every hook point that the product fires. A point is listed here when its call site exists. */
import { gatewayPoints } from "./gateway.js";

export const catalogue = [...gatewayPoints] as const;
export type Catalogue = typeof catalogue;
