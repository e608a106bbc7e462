/** The package's public API: what plugin authors and embedders import. */

export { type Address, formatAddress, parseAddress } from "./domain/chat/address.js";
export type { Attachment, Button, Card, InboundMessage, OutboundMessage } from "./domain/chat/message.js";
export type { Cause, DispatchRecord, JournalPort, Outcome, RunRecord } from "./domain/journal.js";
export { immutable } from "./fast/isolate.js";
export type { BackgroundEnd, BackgroundPort, BackgroundRun, BackgroundRunner } from "./hooks/background.js";
export type {
  BeforeDispatchPayload,
  BeforeDispatchResult,
  CommandInvokedPayload,
  DeliveryFailedPayload,
  InboundClaimPayload,
  InboundClaimResult,
  MessageDeletedPayload,
  MessageEditedPayload,
  MessageReceivedPayload,
  MessageSendingPayload,
  MessageSendingResult,
  MessageSentPayload,
  ReactionAddedPayload,
} from "./hooks/catalogue/gateway.js";
export { type Catalogue, catalogue } from "./hooks/catalogue/index.js";
export type { Contribution, ContributionKind } from "./hooks/contribution.js";
export { inDryRun } from "./hooks/dry-run.js";
export { HookFailedError, UnknownHookError } from "./hooks/errors.js";
export type { Explanation } from "./hooks/explain.js";
export type { DispatchOptions } from "./hooks/options.js";
export { definePoint, type HookPoint, type LifecyclePhase, type Model } from "./hooks/point.js";
export type { Matcher } from "./hooks/registration/matcher.js";
export type {
  Execution,
  FailurePolicy,
  HookInfo,
  RegisterOptions,
  TurnOptions,
} from "./hooks/registration/registration.js";
export {
  HookRegistry,
  type Override,
  type Problem,
  type RegistryOptions,
  type Unregister,
} from "./hooks/registry.js";
export type {
  BeforeResult,
  Claimed,
  ClaimingHandler,
  HookContext,
  LifecycleContext,
  LifecycleHandler,
  ModifyingHandler,
  PayloadOf,
  PhaseResult,
  Registration,
  ResultOf,
  TurnHandler,
  VoidHandler,
} from "./hooks/signatures.js";
export { HookgateError } from "./lib/errors.js";
export type { Logger } from "./lib/logger.js";
export type { PluginApi, PluginSendOptions, PluginStore } from "./plugins/api.js";
export type { PluginAnswer, PluginCommand, PluginCommandContext, PluginCommands } from "./plugins/commands.js";
export { definePlugin, type PluginDefinition, type PluginEnd } from "./plugins/define.js";
export type { PluginFireOptions, PluginHooks, PluginPoint } from "./plugins/hooks.js";
