/** The chats that show alerts: places that wait for their card, and the cards. */
import type { AlertCard, AlertStore } from "../../domain/alerts/alert.js";
import type { Connection } from "../connection.js";
import { type AlertRecord, alertOf, type CardRecord, cardOf, type PlaceRecord, placeOf } from "./rows.js";

type Places = Pick<AlertStore, "waiting" | "postponePlaces" | "busyDestinations" | "placesOf" | "movedFrom">;
type CardQueries = Pick<AlertStore, "card" | "cardOf" | "aloneIn" | "stale" | "unsettled" | "failedCards" | "redraws">;
type CardChanges = Pick<AlertStore, "place" | "saveCard" | "redraw" | "redrawDue">;

export function createPlaces({ database, read, write }: Connection): Places {
  const waiting = database.prepare<[string, number], PlaceRecord>(
    "SELECT * FROM alert_places WHERE destination = ? AND is_waiting ORDER BY due_at LIMIT ?",
  );
  const postpone = database.prepare<[number, string]>(
    "UPDATE alert_places SET due_at = ? WHERE destination = ? AND is_waiting AND kind = 'quiet'",
  );
  const busy = database.prepare<[], { destination: string }>(
    `SELECT destination FROM alert_places WHERE is_waiting
     UNION SELECT destination FROM alert_cards WHERE shown < wanted
     UNION SELECT destination FROM alert_cards WHERE unsettled IS NOT NULL
     UNION SELECT destination FROM alert_cards WHERE redraw_at IS NOT NULL
     UNION SELECT destination FROM alert_notices WHERE NOT is_sent
     UNION SELECT destination FROM alert_notices WHERE NOT is_settled`,
  );
  const places = database.prepare<[string], PlaceRecord>(
    `SELECT *, EXISTS (
       SELECT 1 FROM alert_places AS other JOIN alert_cards ON id = other.card_id
       WHERE other.card_id = place.card_id AND other.alert_id <> place.alert_id AND alert_cards.kind <> 'alert'
     ) AS is_shared FROM alert_places AS place WHERE alert_id = ?`,
  );
  const moved = database.prepare<[string, number], AlertRecord & { moved_to: string }>(
    `SELECT data, moved_to FROM alert_places JOIN alerts ON alerts.id = alert_id
     WHERE left_card = ? ORDER BY episode DESC, raised_at DESC LIMIT ?`,
  );
  return {
    waiting: (destination, limit) => read(() => waiting.all(destination, limit).map(placeOf)),
    postponePlaces: (destination, dueAt) => write(() => void postpone.run(dueAt, destination)),
    busyDestinations: () => read(() => busy.all().map(({ destination }) => destination)),
    placesOf: (alertId) => read(() => places.all(alertId).map(placeOf)),
    movedFrom: (cardId, limit) =>
      read(() =>
        moved.all(cardId, limit).map((row) => ({ alert: alertOf(row), movedTo: JSON.parse(row.moved_to) as string[] })),
      ),
  };
}

export function createCardQueries({ database, read }: Connection): CardQueries {
  const byId = database.prepare<[string], CardRecord>("SELECT * FROM alert_cards WHERE id = ?");
  const byKey = database.prepare<[string, string, string], CardRecord>(
    "SELECT * FROM alert_cards WHERE destination = ? AND kind = ? AND key = ? ORDER BY created_at DESC, id DESC LIMIT 1",
  );
  const alone = database.prepare<[string, string], { rows: number }>(
    `SELECT count(*) AS rows FROM alert_cards
     WHERE destination = ? AND group_key = ? AND NOT is_closed AND kind = 'alert'`,
  );
  const stale = database.prepare<[string], CardRecord>(
    "SELECT * FROM alert_cards WHERE destination = ? AND shown < wanted ORDER BY created_at, id",
  );
  const unsettled = database.prepare<[string], CardRecord>(
    "SELECT * FROM alert_cards WHERE destination = ? AND unsettled IS NOT NULL",
  );
  const failed = database.prepare<[string], CardRecord>(
    "SELECT * FROM alert_cards WHERE destination = ? AND failed_at IS NOT NULL AND NOT is_closed ORDER BY created_at, id",
  );
  const redraws = database.prepare<[string], { count: number; next_at: number | null }>(
    `SELECT count(*) AS count, min(redraw_at) AS next_at FROM alert_cards
     WHERE destination = ? AND redraw_at IS NOT NULL`,
  );
  return {
    card: (id) => read(() => maybe(byId.get(id))),
    cardOf: (destination, kind, key) => read(() => maybe(byKey.get(destination, kind, key))),
    aloneIn: (destination, group) => read(() => alone.get(destination, group)?.rows ?? 0),
    stale: (destination) => read(() => stale.all(destination).map(cardOf)),
    unsettled: (destination) => read(() => unsettled.all(destination).map(cardOf)),
    failedCards: (destination) => read(() => failed.all(destination).map(cardOf)),
    redraws: (destination) =>
      read(() => {
        const { count = 0, next_at: nextAt = null } = redraws.get(destination) ?? {};
        return { count, nextAt: nextAt ?? undefined };
      }),
  };
}

export function createCardChanges({ database, write }: Connection): CardChanges {
  const assign = database.prepare<[string | null, string, string]>(
    `UPDATE alert_places SET is_waiting = 0, card_id = ?, left_card = NULL, moved_to = NULL
     WHERE alert_id = ? AND destination = ? AND is_waiting`,
  );
  /** The card that the alert left there: it shows by now where the alert is. */
  const leftCard = database.prepare<[string, string], { id: string }>(
    "SELECT left_card AS id FROM alert_places WHERE alert_id = ? AND destination = ? AND is_waiting AND left_card IS NOT NULL",
  );
  const joined = database.prepare<[string]>("UPDATE alert_cards SET wanted = wanted + 1, is_closed = 0 WHERE id = ?");
  const make = database.prepare<[string, string, string, string, string, string, number, number]>(
    `INSERT INTO alert_cards
     (id, destination, kind, key, group_key, delivery_id, is_posted, wanted, shown, shown_at, created_at, is_closed)
     VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, ?, ?, 0) ON CONFLICT DO NOTHING`,
  );
  const save = database.prepare<
    [string, number, number, number, string | null, number | null, number | null, number, number, number | null, string]
  >(
    `UPDATE alert_cards SET delivery_id = ?, is_posted = ?, shown = ?, shown_at = ?, unsettled = ?, unsettled_since = ?,
     failed_at = ?, is_closed = iif(wanted > ?, 0, ?), redraw_at = ? WHERE id = ?`,
  );
  const redrawDue = database.prepare<[string, number]>(
    `UPDATE alert_cards SET wanted = wanted + 1, redraw_at = NULL
     WHERE destination = ? AND redraw_at IS NOT NULL AND redraw_at <= ? AND NOT is_closed`,
  );
  return {
    place: (assigned, made) =>
      write(() => {
        for (const { id, destination, kind, key, group, deliveryId, shownAt, createdAt } of made)
          make.run(id, destination, kind, key, group, deliveryId, shownAt, createdAt);
        const touched = new Set<string>();
        for (const { alertId, destination, cardId } of assigned) {
          const left = leftCard.get(alertId, destination);
          if (left) touched.add(left.id);
          assign.run(cardId ?? null, alertId, destination);
          if (cardId !== undefined) touched.add(cardId);
        }
        for (const id of touched) joined.run(id);
      }),
    saveCard: (card) =>
      write(
        () =>
          void save.run(
            card.deliveryId,
            card.isPosted ? 1 : 0,
            card.shown,
            card.shownAt,
            card.unsettled ?? null,
            card.unsettledSince ?? null,
            card.failedAt ?? null,
            card.shown,
            card.isClosed ? 1 : 0,
            card.redrawAt ?? null,
            card.id,
          ),
      ),
    redraw: (cardId) => write(() => void joined.run(cardId)),
    redrawDue: (destination, now) => write(() => void redrawDue.run(destination, now)),
  };
}

export function createTakeBack({ database, write }: Connection): Pick<AlertStore, "takeBack"> {
  const takeBack = [
    // The time of the next drawing was computed from the time of the last one. A card that is made in this pass is newer than these.
    `UPDATE alert_cards SET shown_at = min(shown_at, :now), created_at = min(created_at, :now - 1),
     unsettled_since = min(unsettled_since, :now),
     redraw_at = iif(shown_at > :now, min(redraw_at, :now), redraw_at)
     WHERE destination = :destination
     AND (shown_at > :now OR created_at > :now OR unsettled_since > :now)`,
    // Other places wait for a time of day.
    `UPDATE alert_places SET due_at = :now
     WHERE destination = :destination AND is_waiting AND kind = 'now' AND due_at > :now`,
    "UPDATE alert_notices SET sent_at = :now WHERE destination = :destination AND sent_at > :now",
  ].map((sql) => database.prepare<{ destination: string; now: number }>(sql));
  return {
    takeBack: (destination, now) =>
      write(() => {
        for (const statement of takeBack) statement.run({ destination, now });
      }),
  };
}

const maybe = (row: CardRecord | undefined): AlertCard | undefined => row && cardOf(row);
