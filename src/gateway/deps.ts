/**
 * The dependencies of the steps of both flows; `createGateway` composes them once. They are values, not a bag to extend: a step adds
 * nothing to them.
 */

import type { ConversationWatch } from "../domain/alerts/sla.js";
import type { AccessConfig } from "../domain/chat/access.js";
import type { Address } from "../domain/chat/address.js";
import type { Choice } from "../domain/chat/command.js";
import type { Operator } from "../domain/chat/identity.js";
import type { Delivery, Store } from "../domain/store.js";
import type { HookRegistry } from "../hooks/registry.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import type { OrdinaryStops } from "../pending/ordinary-stops.js";
import type { Adapters } from "./adapters.js";
import type { Background } from "./background.js";
import type { GatewayConfig } from "./config.js";
import type { MovedChats } from "./moved-chats.js";
import type { Observer } from "./observe.js";
import type { OwnerClaims } from "./people/owner-claims.js";

export interface Deps {
  store: Store;
  registry: HookRegistry;
  adapters: Adapters;
  moves: MovedChats;
  background: Background;
  stops: OrdinaryStops;
  config: GatewayConfig;
  access: Readonly<Record<string, AccessConfig>>;
  clock: Clock;
  logger: Logger;
  observe: Observer;
  /** The part that follows conversations (SLA clocks). */
  watch: ConversationWatch | undefined;
  offers: Offers;
  /** Whether a run of this hook may post in this conversation. */
  mayPost(hookId: string, conversation: string): boolean;
  /** Deliveries of an earlier process whose age the clock does not show. */
  ofUnknownAge: ReadonlySet<string>;
  /** The reason of an end as this person may read it. */
  readableReason(
    operator: Operator,
    delivery: Pick<Delivery, "id" | "cause">,
    end: { status: string; reason: string },
  ): Promise<string>;
  /** A text for people who are not at the machine: without whole paths of files. */
  shown(text: string): string;
  claims: Pick<OwnerClaims, "owners" | "hasCode" | "find" | "overheard"> | undefined;
}

/** Names that commands can use and that are in no store: they are in the configuration and its folders. */
export interface Offers {
  plans(): Choice[];
  assignees(): Choice[];
  rotas(): Choice[];
  policies(): Choice[];
  /** The name that people use for an account `platform:id`; undefined where none is known. */
  personName(ref: string): string | undefined;
  /** How people call a chat; undefined where no name is known. */
  placeName(at: Address): string | undefined;
}
