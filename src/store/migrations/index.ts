/** The migrations of the main database, in order. */
import type { Migrations } from "../migrate.js";
import { inboxAndOutbox } from "./001-inbox-and-outbox.js";
import { operatorsAndPlugins } from "./002-operators-and-plugins.js";
import { webChat } from "./003-web-chat.js";
import { automations } from "./004-automations.js";
import { orchestrator } from "./005-orchestrator.js";
import { missions } from "./006-missions.js";
import { sla } from "./007-sla.js";
import { alerts } from "./008-alerts.js";
import { owedHooks } from "./009-owed-hooks.js";
import { alertTimes } from "./010-alert-times.js";
import { assessmentTellings } from "./011-assessment-tellings.js";
import { runsByEnd } from "./012-runs-by-end.js";
import { eventCauses } from "./013-event-causes.js";
import { plainConditions } from "./014-plain-conditions.js";
import { owedEnds } from "./015-owed-ends.js";
import { noConsoleToken } from "./016-no-console-token.js";
import { inboxReasons } from "./017-inbox-reasons.js";
import { dispatchNumbers } from "./018-dispatch-numbers.js";
import { pauseLengths } from "./019-pause-lengths.js";
import { noticeDeliveries } from "./020-notice-deliveries.js";
import { unreadableParts } from "./021-unreadable-parts.js";
import { deliveryIds } from "./022-delivery-ids.js";
import { inboxLanes } from "./023-inbox-lanes.js";

export const migrations: Migrations = {
  "001-inbox-and-outbox": inboxAndOutbox,
  "002-operators-and-plugins": operatorsAndPlugins,
  "003-web-chat": webChat,
  "004-automations": automations,
  "005-orchestrator": orchestrator,
  "006-missions": missions,
  "007-sla": sla,
  "008-alerts": alerts,
  "009-owed-hooks": owedHooks,
  "010-alert-times": alertTimes,
  "011-assessment-tellings": assessmentTellings,
  "012-runs-by-end": runsByEnd,
  "013-event-causes": eventCauses,
  "014-plain-conditions": plainConditions,
  "015-owed-ends": owedEnds,
  "016-no-console-token": noConsoleToken,
  "017-inbox-reasons": inboxReasons,
  "018-dispatch-numbers": dispatchNumbers,
  "019-pause-lengths": pauseLengths,
  "020-notice-deliveries": noticeDeliveries,
  "021-unreadable-parts": unreadableParts,
  "022-delivery-ids": deliveryIds,
  "023-inbox-lanes": inboxLanes,
};
