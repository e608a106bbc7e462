/** Every hook point that the product fires. A point is listed here when its call site exists. */
import { automationPoints } from "./automation.js";
import { gatewayPoints } from "./gateway.js";
import { missionPoints } from "./missions.js";
import { orchestrationPoints } from "./orchestration.js";
import { slaPoints } from "./sla.js";

export const catalogue = [
  ...gatewayPoints,
  ...automationPoints,
  ...orchestrationPoints,
  ...missionPoints,
  ...slaPoints,
] as const;
export type Catalogue = typeof catalogue;
