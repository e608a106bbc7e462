/** Tasks: the rows, who waits for whom, and their history, which is also the list of what others are still to be told. */
import { migrationOf } from "../migrate.js";

export const orchestrator = migrationOf([
  // `due_at`: when the orchestrator looks at it next; NULL while it waits for something else than time.
  `CREATE TABLE tasks (
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
  )`,
  // What is to be started, by who does it: a backlog of one that has no room is not looked through for the others.
  "CREATE INDEX tasks_to_start ON tasks (assign_to, priority DESC, seq, due_at) WHERE due_at IS NOT NULL AND status IN ('pending', 'assigned')",
  "CREATE INDEX tasks_to_look_at ON tasks (due_at) WHERE due_at IS NOT NULL AND status NOT IN ('pending', 'assigned')",
  "CREATE INDEX tasks_next ON tasks (due_at) WHERE due_at IS NOT NULL",
  "CREATE INDEX tasks_status ON tasks (status, seq)",
  "CREATE INDEX tasks_mission ON tasks (mission_id, seq) WHERE mission_id IS NOT NULL",
  "CREATE INDEX tasks_leased ON tasks (lease_owner) WHERE lease_owner IS NOT NULL",
  "CREATE INDEX tasks_ended ON tasks (ended_at) WHERE ended_at IS NOT NULL",
  `CREATE TABLE task_dependencies (
    depends_on TEXT NOT NULL, task_id TEXT NOT NULL, PRIMARY KEY (depends_on, task_id)
  ) WITHOUT ROWID`,
  `CREATE TABLE task_events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    task_id TEXT NOT NULL,
    tries INTEGER NOT NULL, told INTEGER NOT NULL,
    data TEXT NOT NULL
  )`,
  "CREATE INDEX task_events_task ON task_events (task_id, seq)",
  "CREATE INDEX task_events_untold ON task_events (seq) WHERE told = 0",
]);
