-- The database of a gateway. Times are milliseconds since 1970. `data` holds, as JSON, what is only read back.

-- ── The inbox ────────────────────────────────────────────────────────────────────────────────────────────────────────
-- Settled = `settled_at` is set. A partial index over what is unsettled stays small whatever the history.
-- `reason`: why the message was not answered (not addressed, the chat is not listed, …).
-- `round`: which dispatch of its hooks comes next; one more for each retry and re-offer, so that dispatch ids are unique.
-- `delivery_ids`: its deliveries, kept after they are deleted: `/hooks why` then knows which existed and which never did.
CREATE TABLE inbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  platform TEXT NOT NULL, bot TEXT NOT NULL, chat TEXT NOT NULL, event_id TEXT NOT NULL,
  lane TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  deferrals INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  settled_at INTEGER,
  outcome TEXT, claimed_by TEXT, error TEXT, reason TEXT,
  round INTEGER NOT NULL DEFAULT 1,
  delivery_ids TEXT,
  event TEXT NOT NULL
);
-- Message ids first, here and below: ids of one moment are neighbours over all chats, so a commit touches few pages.
CREATE UNIQUE INDEX inbox_event ON inbox (event_id, chat, bot, platform);
CREATE INDEX inbox_open ON inbox (lane, id) WHERE settled_at IS NULL;
CREATE INDEX inbox_dead ON inbox (id) WHERE status = 'dead';
-- `/hooks why last` asks for the newest message of one chat, however much was written in others since.
CREATE INDEX inbox_lane ON inbox (lane);

-- Keys of rows that retention removed while the platform may still deliver the event again.
CREATE TABLE inbox_seen (
  chat TEXT NOT NULL, event_id TEXT NOT NULL, bot TEXT NOT NULL, platform TEXT NOT NULL,
  inbox_id INTEGER NOT NULL, received_at INTEGER NOT NULL,
  PRIMARY KEY (event_id, chat, bot, platform)
) WITHOUT ROWID;
CREATE INDEX inbox_seen_age ON inbox_seen (received_at);

-- ── The outbox ───────────────────────────────────────────────────────────────────────────────────────────────────────
-- `frozen`: the message after the hooks, empty when they left it as it was. `parts`: the list of its requests (JSON); most
-- deliveries have one, and one row is written faster than two. `round`: as in the inbox. `asked`: how often hooks were
-- asked in this round whether it may go.
CREATE TABLE deliveries (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  conversation TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL, due_at INTEGER NOT NULL, expires_at INTEGER, settled_at INTEGER,
  target_id TEXT, reason TEXT,
  round INTEGER NOT NULL DEFAULT 1, asked INTEGER NOT NULL DEFAULT 0,
  -- So many of its attempts were answered with a wait: they do not end it.
  waits INTEGER NOT NULL DEFAULT 0,
  data TEXT NOT NULL, message TEXT, frozen TEXT, parts TEXT
);
-- Conditions of comparisons: for `IN (…)`, SQLite fills a table of its own at each row that is written.
CREATE INDEX deliveries_open ON deliveries (conversation, seq) WHERE (status = 'waiting' OR status = 'sending');
CREATE INDEX deliveries_exceptions ON deliveries (status, seq)
  WHERE status <> 'sent' AND status <> 'waiting' AND status <> 'sending';
CREATE INDEX deliveries_target ON deliveries (target_id, seq) WHERE target_id IS NOT NULL;

-- The delivery that created a platform's message.
CREATE TABLE posted (
  message_id TEXT NOT NULL, chat TEXT NOT NULL, bot TEXT NOT NULL, platform TEXT NOT NULL, delivery INTEGER NOT NULL,
  PRIMARY KEY (message_id, chat, bot, platform)
) WITHOUT ROWID;
-- Works for damaged parts, too: an operator and retention can delete such a delivery.
CREATE TRIGGER deliveries_posted AFTER DELETE ON deliveries WHEN OLD.parts IS NOT NULL BEGIN
  DELETE FROM posted WHERE delivery = OLD.seq
    AND message_id IN (
      SELECT json_extract(iif(type = 'object', value, '{}'), '$.messageId')
      FROM json_each(iif(json_valid(OLD.parts), OLD.parts, '[]'))
    );
END;

-- Work that must be done once after a commit: written with the change that it belongs to, deleted when it is done.
-- No AUTOINCREMENT: a number may come again, the order of what is there is the same, and each commit writes a page less.
CREATE TABLE pending (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL, key TEXT NOT NULL,
  due_at INTEGER NOT NULL, attempts INTEGER NOT NULL, payload TEXT NOT NULL
);

-- Messages of one chat that are mirrored in another.
CREATE TABLE links (
  id INTEGER PRIMARY KEY,
  delivery_id TEXT NOT NULL, at INTEGER NOT NULL,
  origin_chat TEXT NOT NULL, origin_message TEXT NOT NULL, origin_bot TEXT NOT NULL, origin_platform TEXT NOT NULL,
  origin_thread TEXT,
  mirror_chat TEXT NOT NULL, mirror_message TEXT NOT NULL, mirror_bot TEXT NOT NULL, mirror_platform TEXT NOT NULL,
  mirror_thread TEXT
);
CREATE INDEX links_origin ON links (origin_message, origin_chat, origin_bot, origin_platform);
CREATE INDEX links_mirror ON links (mirror_message, mirror_chat, mirror_bot, mirror_platform);

-- What the buttons of messages do.
CREATE TABLE action_tokens (
  token TEXT PRIMARY KEY, delivery_id TEXT NOT NULL, action TEXT NOT NULL, expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX action_tokens_expiry ON action_tokens (expires_at);

-- `asked_ms`: how long the platform asked to wait; a pause that would last longer was set under another clock.
CREATE TABLE pauses (
  key TEXT PRIMARY KEY, until INTEGER NOT NULL, reason TEXT NOT NULL, asked_ms INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- ── What operators did and set, and what adapters and plugins remember ───────────────────────────────────────────────
CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL, operator TEXT NOT NULL, action TEXT NOT NULL, target TEXT, details TEXT, outcome TEXT NOT NULL
);
CREATE TABLE hook_switches (
  hook_id TEXT PRIMARY KEY, enabled INTEGER NOT NULL, by TEXT NOT NULL, at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE key_values (
  scope TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE TABLE cursors (
  scope TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE TABLE own_secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- Facts about this installation: who has it open, and the row that a health check writes.
CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- ── The web chat: rooms, messages, and the sequence of changes that a page follows ───────────────────────────────────
CREATE TABLE web_rooms (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, is_dm INTEGER NOT NULL, owner_id TEXT
) WITHOUT ROWID;
CREATE TABLE web_messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  room_id TEXT NOT NULL, thread_id TEXT, user_id TEXT, user_name TEXT,
  text TEXT NOT NULL, body TEXT,
  reply_to_id INTEGER, visible_to TEXT,
  at INTEGER NOT NULL, edited_at INTEGER, deleted_at INTEGER,
  nonce TEXT NOT NULL UNIQUE
);
CREATE INDEX web_messages_room ON web_messages (room_id, id);
CREATE TABLE web_changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  message_id INTEGER NOT NULL REFERENCES web_messages (id) ON DELETE CASCADE
);
CREATE INDEX web_changes_message ON web_changes (message_id);

-- ── Configured hooks: runs and their leases, timed triggers, events from HTTP, what watched files looked like ────────
-- `pending`: the payload as it came, for a run that must still happen.
-- `line`: whose runs it waits behind. The lines of a hook take turns. `turn`: since when a waiting run is the next one of its line;
-- NULL while an earlier one of the line is.
CREATE TABLE automation_runs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  hook_id TEXT NOT NULL,
  status TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  repeatable INTEGER NOT NULL,
  created_at INTEGER NOT NULL, due_at INTEGER NOT NULL, started_at INTEGER, ended_at INTEGER,
  lease_owner TEXT, lease_until INTEGER,
  line TEXT, turn INTEGER,
  data TEXT NOT NULL, pending TEXT
);
CREATE INDEX automation_runs_hook ON automation_runs (hook_id, seq);
CREATE INDEX automation_runs_started ON automation_runs (hook_id, started_at) WHERE started_at IS NOT NULL;
CREATE INDEX automation_runs_waiting ON automation_runs (turn, due_at DESC, seq) WHERE status IN ('queued', 'backgrounded');
CREATE INDEX automation_runs_line ON automation_runs (hook_id, line, turn, due_at, seq)
  WHERE status IN ('queued', 'backgrounded') AND line IS NOT NULL;
CREATE INDEX automation_runs_running ON automation_runs (lease_until) WHERE status = 'running';
-- The loop guard asks which runs were in progress when a file changed.
CREATE INDEX automation_runs_ended ON automation_runs (ended_at) WHERE ended_at IS NOT NULL AND started_at IS NOT NULL;
CREATE TABLE automation_triggers (
  hook_id TEXT PRIMARY KEY, schedule TEXT NOT NULL, last_at INTEGER, next_at INTEGER
) WITHOUT ROWID;
-- `cause`: what is known of the sender, such as a program of a hook on this machine.
CREATE TABLE automation_events (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, payload TEXT NOT NULL, received_at INTEGER NOT NULL,
  cause TEXT
) WITHOUT ROWID;
CREATE TABLE automation_files (
  watch_id TEXT NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL, mtime REAL NOT NULL, ctime REAL NOT NULL,
  PRIMARY KEY (watch_id, path)
) WITHOUT ROWID;
-- A watch that saw an empty folder is not one that never looked.
CREATE TABLE automation_watches (watch_id TEXT PRIMARY KEY) WITHOUT ROWID;

-- ── Tasks: the rows, their dependencies, and their history, which is also the list of pending notifications ──────────
-- `due_at`: when the orchestrator processes it next; NULL while it waits for something else than time.
CREATE TABLE tasks (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  version INTEGER NOT NULL,
  status TEXT NOT NULL,
  priority INTEGER NOT NULL,
  assign_to TEXT NOT NULL,
  mission_id TEXT,
  task_group TEXT,
  due_at INTEGER, run_id TEXT, lease_owner TEXT, lease_until INTEGER, ended_at INTEGER,
  data TEXT NOT NULL
);
-- What is to be started, by assignee: the backlog of one that has no room is not searched for the others.
CREATE INDEX tasks_to_start ON tasks (assign_to, priority DESC, seq, due_at)
  WHERE due_at IS NOT NULL AND status IN ('pending', 'assigned');
CREATE INDEX tasks_to_look_at ON tasks (due_at) WHERE due_at IS NOT NULL AND status NOT IN ('pending', 'assigned');
CREATE INDEX tasks_next ON tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_status ON tasks (status, seq);
CREATE INDEX tasks_mission ON tasks (mission_id, seq) WHERE mission_id IS NOT NULL;
CREATE INDEX tasks_leased ON tasks (lease_owner) WHERE lease_owner IS NOT NULL;
CREATE INDEX tasks_ended ON tasks (ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE task_dependencies (
  depends_on TEXT NOT NULL, task_id TEXT NOT NULL, PRIMARY KEY (depends_on, task_id)
) WITHOUT ROWID;
CREATE TABLE task_events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  task_id TEXT NOT NULL,
  data TEXT NOT NULL
);
CREATE INDEX task_events_task ON task_events (task_id, seq);

-- ── Missions, the schedules that start them, and what assessments found ──────────────────────────────────────────────
CREATE TABLE missions (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  version INTEGER NOT NULL,
  plan_id TEXT NOT NULL,
  status TEXT NOT NULL,
  ended_at INTEGER,
  data TEXT NOT NULL, report TEXT
);
CREATE INDEX missions_open ON missions (seq) WHERE ended_at IS NULL;
CREATE INDEX missions_status ON missions (status, seq);
CREATE INDEX missions_plan ON missions (plan_id, seq);
CREATE INDEX missions_ended ON missions (ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE schedules (id TEXT PRIMARY KEY, next_at INTEGER, data TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE assessments (
  task_id TEXT NOT NULL, attempt INTEGER NOT NULL, ended_at INTEGER NOT NULL, data TEXT NOT NULL,
  PRIMARY KEY (task_id, attempt)
) WITHOUT ROWID;
CREATE INDEX assessments_ended ON assessments (ended_at);
-- What hooks let pass of assessments, so that they are not asked about it again after a crash. Kept as long as the assessment.
CREATE TABLE assessments_passed (
  task_id TEXT NOT NULL, attempt INTEGER NOT NULL, point TEXT NOT NULL, at INTEGER NOT NULL, payload TEXT NOT NULL,
  PRIMARY KEY (task_id, attempt, point)
) WITHOUT ROWID;
CREATE INDEX assessments_passed_at ON assessments_passed (at);

-- ── SLA clocks, what they announce, and the conversations that some of them are about ────────────────────────────────
CREATE TABLE sla_clocks (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  policy TEXT NOT NULL, policy_hash TEXT NOT NULL,
  entity_type TEXT NOT NULL, entity_id TEXT NOT NULL,
  measure TEXT NOT NULL, cycle TEXT NOT NULL,
  state TEXT NOT NULL, outcome TEXT,
  due_at INTEGER, next_at INTEGER, ended_at INTEGER, violated_at INTEGER,
  used_ms INTEGER, target_ms INTEGER NOT NULL,
  data TEXT NOT NULL
);
CREATE UNIQUE INDEX sla_clocks_key ON sla_clocks (entity_id, entity_type, policy, measure, cycle);
CREATE INDEX sla_clocks_hash ON sla_clocks (policy_hash, seq) WHERE ended_at IS NULL;
CREATE INDEX sla_clocks_next ON sla_clocks (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX sla_clocks_open ON sla_clocks (state DESC, due_at, seq) WHERE ended_at IS NULL;
CREATE INDEX sla_clocks_overdue ON sla_clocks (due_at, seq) WHERE ended_at IS NULL AND violated_at IS NOT NULL;
CREATE INDEX sla_clocks_ended ON sla_clocks (ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE sla_announcements (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  clock_id TEXT NOT NULL, episode INTEGER NOT NULL, at INTEGER NOT NULL,
  status TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, due_at INTEGER NOT NULL,
  reason TEXT, by TEXT, news TEXT, signal TEXT NOT NULL
);
CREATE INDEX sla_announcements_open ON sla_announcements (due_at, seq) WHERE status IN ('pending', 'approved', 'raised');
CREATE INDEX sla_announcements_clock ON sla_announcements (clock_id, seq);
-- What the gateway saw and the clocks have not processed yet.
CREATE TABLE sla_sights (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, conversation TEXT NOT NULL, data TEXT NOT NULL
);
CREATE INDEX sla_sights_conversation ON sla_sights (conversation, seq);
CREATE TABLE sla_cases (
  id TEXT PRIMARY KEY, conversation TEXT NOT NULL, ended_at INTEGER, closes_at INTEGER, data TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX sla_cases_open ON sla_cases (conversation) WHERE ended_at IS NULL;
CREATE INDEX sla_cases_closing ON sla_cases (closes_at) WHERE closes_at IS NOT NULL AND ended_at IS NULL;
CREATE INDEX sla_cases_ended ON sla_cases (ended_at) WHERE ended_at IS NOT NULL;

-- ── Alerts: states and history, where they are posted, the cards and notices that show them, and silences ────────────
-- `rank` orders by severity.
CREATE TABLE alerts (
  id TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL, episode INTEGER NOT NULL,
  state TEXT NOT NULL, is_open INTEGER NOT NULL, rank INTEGER NOT NULL, assignee TEXT,
  raised_at INTEGER NOT NULL, changed_at INTEGER NOT NULL, ended_at INTEGER, next_at INTEGER,
  version INTEGER NOT NULL, data TEXT NOT NULL,
  UNIQUE (fingerprint, episode)
) WITHOUT ROWID;
CREATE INDEX alerts_open ON alerts (rank DESC, raised_at, id) WHERE is_open;
CREATE INDEX alerts_due ON alerts (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX alerts_ended ON alerts (ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE alert_history (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, alert_id TEXT NOT NULL, at INTEGER NOT NULL,
  event TEXT NOT NULL, from_state TEXT, to_state TEXT NOT NULL, actor TEXT NOT NULL, reason TEXT
);
CREATE INDEX alert_history_of ON alert_history (alert_id, seq);
-- `left_card`, `moved_to`: the card that showed the alert before it moved, and where to.
CREATE TABLE alert_places (
  alert_id TEXT NOT NULL, destination TEXT NOT NULL, group_key TEXT NOT NULL, kind TEXT NOT NULL, due_at INTEGER NOT NULL,
  is_waiting INTEGER NOT NULL DEFAULT 1, card_id TEXT, left_card TEXT, moved_to TEXT,
  PRIMARY KEY (alert_id, destination)
) WITHOUT ROWID;
CREATE INDEX alert_places_waiting ON alert_places (destination, due_at) WHERE is_waiting;
CREATE INDEX alert_places_card ON alert_places (card_id) WHERE card_id IS NOT NULL;
CREATE INDEX alert_places_left ON alert_places (left_card) WHERE left_card IS NOT NULL;
-- `redraw_at`: when the card is drawn again without a change of its alerts.
CREATE TABLE alert_cards (
  id TEXT PRIMARY KEY, destination TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, group_key TEXT NOT NULL,
  delivery_id TEXT NOT NULL, is_posted INTEGER NOT NULL, wanted INTEGER NOT NULL, shown INTEGER NOT NULL,
  shown_at INTEGER NOT NULL, created_at INTEGER NOT NULL, unsettled TEXT, unsettled_since INTEGER, failed_at INTEGER,
  is_closed INTEGER NOT NULL, redraw_at INTEGER
) WITHOUT ROWID;
CREATE INDEX alert_cards_key ON alert_cards (destination, kind, key, created_at);
CREATE INDEX alert_cards_stale ON alert_cards (destination) WHERE shown < wanted;
CREATE INDEX alert_cards_unsettled ON alert_cards (destination) WHERE unsettled IS NOT NULL;
CREATE INDEX alert_cards_alone ON alert_cards (destination, group_key) WHERE NOT is_closed AND kind = 'alert';
CREATE INDEX alert_cards_redraw ON alert_cards (destination, redraw_at) WHERE redraw_at IS NOT NULL;
CREATE TABLE alert_notices (
  id INTEGER PRIMARY KEY AUTOINCREMENT, alert_id TEXT NOT NULL, destination TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
  words TEXT NOT NULL, mentions TEXT NOT NULL, due_at INTEGER NOT NULL, delivery_id TEXT, is_sent INTEGER NOT NULL DEFAULT 0,
  is_settled INTEGER NOT NULL DEFAULT 1, sent_at INTEGER,
  UNIQUE (alert_id, destination, key)
);
CREATE INDEX alert_notices_waiting ON alert_notices (destination, id) WHERE NOT is_sent;
CREATE INDEX alert_notices_unsettled ON alert_notices (destination, id) WHERE NOT is_settled;
-- When the alerts of a delivery's notices end, its message is edited.
CREATE INDEX alert_notices_delivery ON alert_notices (delivery_id) WHERE delivery_id IS NOT NULL;
CREATE TABLE alert_silences (
  id TEXT PRIMARY KEY, matchers TEXT NOT NULL, from_at INTEGER NOT NULL, until_at INTEGER NOT NULL, comment TEXT NOT NULL,
  by TEXT NOT NULL, ended_at INTEGER
) WITHOUT ROWID;

-- What this file is, and the version of its schema. Migrations start with the first release.
CREATE TABLE hookgate_schema (name TEXT NOT NULL, version INTEGER NOT NULL);
INSERT INTO hookgate_schema (name, version) VALUES ('gateway', 7);
