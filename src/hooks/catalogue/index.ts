/** Every hook point that the product fires. A point is listed here when its call site exists. */
import { automationPoints } from "./automation.js";
import { gatewayPoints } from "./gateway.js";

export const catalogue = [...gatewayPoints, ...automationPoints] as const;
export type Catalogue = typeof catalogue;
