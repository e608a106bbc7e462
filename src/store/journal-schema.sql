-- The history of a gateway, a file of its own: the records of dispatches, and counts of hooks that outlive them.

-- Records in packs (src/fast/pack/pack.ts). `traits` stands before `pack`, so that asking it does not read the pack.
CREATE TABLE segments (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  records INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
  traits BLOB NOT NULL, pack BLOB NOT NULL
);
-- `latencies`: JSON object, bucket → count.
CREATE TABLE hook_hours (
  hook TEXT NOT NULL, hour INTEGER NOT NULL,
  fires INTEGER NOT NULL, failures INTEGER NOT NULL, latencies TEXT NOT NULL,
  PRIMARY KEY (hook, hour)
) WITHOUT ROWID;
CREATE INDEX hook_hours_hour ON hook_hours (hour);
CREATE TABLE hook_totals (
  hook TEXT PRIMARY KEY, fires INTEGER NOT NULL, last_at INTEGER NOT NULL, last_outcome TEXT NOT NULL
) WITHOUT ROWID;
-- The last batch that each writing process got in, so that one sent again after a crash is not written twice.
CREATE TABLE batches (session TEXT PRIMARY KEY, batch INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;

-- What this file is, and the version of its schema. Migrations start with the first release.
CREATE TABLE hookgate_schema (name TEXT NOT NULL, version INTEGER NOT NULL);
INSERT INTO hookgate_schema (name, version) VALUES ('history', 1);
