/** Alerts and cards as rows: columns for fields that queries use, JSON for fields that are only read back. */
import {
  type Alert,
  type AlertCard,
  type AlertState,
  isOpen,
  type KnownPlace,
  SEVERITIES,
} from "../../domain/alerts/alert.js";

export interface AlertRecord {
  data: string;
}

export type AlertValues = [
  state: AlertState,
  isOpen: number,
  rank: number,
  assignee: string | null,
  raisedAt: number,
  changedAt: number,
  endedAt: number | null,
  nextAt: number | null,
  version: number,
  data: string,
];

export function valuesOf(alert: Alert): AlertValues {
  return [
    alert.state,
    isOpen(alert.state) ? 1 : 0,
    SEVERITIES.indexOf(alert.severity),
    alert.assignee?.id ?? null,
    alert.raisedAt,
    alert.since,
    alert.endedAt ?? null,
    alert.nextAt ?? null,
    alert.version,
    JSON.stringify(alert),
  ];
}

export const alertOf = ({ data }: AlertRecord): Alert => JSON.parse(data) as Alert;

export interface PlaceRecord {
  alert_id: string;
  destination: string;
  group_key: string;
  kind: KnownPlace["kind"];
  due_at: number;
  is_waiting: number;
  card_id: string | null;
  is_shared?: number;
  moved_to: string | null;
}

export function placeOf(row: PlaceRecord): KnownPlace {
  return {
    alertId: row.alert_id,
    destination: row.destination,
    group: row.group_key,
    kind: row.kind,
    dueAt: row.due_at,
    isWaiting: row.is_waiting === 1,
    cardId: row.card_id ?? undefined,
    isShared: row.is_shared === 1,
    movedTo: row.moved_to === null ? undefined : (JSON.parse(row.moved_to) as string[]),
  };
}

export interface CardRecord {
  id: string;
  destination: string;
  kind: AlertCard["kind"];
  key: string;
  group_key: string;
  delivery_id: string;
  is_posted: number;
  wanted: number;
  shown: number;
  shown_at: number;
  created_at: number;
  unsettled: string | null;
  unsettled_since: number | null;
  failed_at: number | null;
  is_closed: number;
  redraw_at: number | null;
}

export function cardOf(row: CardRecord): AlertCard {
  return {
    id: row.id,
    destination: row.destination,
    kind: row.kind,
    key: row.key,
    group: row.group_key,
    deliveryId: row.delivery_id,
    isPosted: row.is_posted === 1,
    wanted: row.wanted,
    shown: row.shown,
    shownAt: row.shown_at,
    createdAt: row.created_at,
    unsettled: row.unsettled ?? undefined,
    unsettledSince: row.unsettled_since ?? undefined,
    failedAt: row.failed_at ?? undefined,
    isClosed: row.is_closed === 1,
    redrawAt: row.redraw_at ?? undefined,
  };
}
