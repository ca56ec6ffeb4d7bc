-- Every row belongs to the project in its scope, directly or through the
-- resource that it hangs on. A claim is four columns that are set together.
--
-- The checks of what every pass writes have at most two values in an IN: for more
-- SQLite makes a table, each time that it runs a statement.

CREATE TABLE schema_info (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  schema_id TEXT NOT NULL,
  version   INTEGER NOT NULL,
  -- of the statements that made the tables, with which builds of one version are told
  -- apart that were never released
  digest    TEXT NOT NULL
) STRICT;

CREATE TABLE schema_migrations (
  version    INTEGER PRIMARY KEY,
  applied_at INTEGER NOT NULL
) STRICT;

-- The processes that have the file open. Each holds the lock of its name in
-- the folder owners; a row whose lock can be taken is of a dead process. The
-- label names the process for people.
CREATE TABLE owners (
  instance   TEXT PRIMARY KEY,
  started_at INTEGER NOT NULL,
  label      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The numbers of controllers: with them the rows that a pass touches are found by
-- numbers, which costs half of what it costs by names. They are never removed.
CREATE TABLE controllers (
  id         INTEGER PRIMARY KEY,
  scope      TEXT NOT NULL,
  controller TEXT NOT NULL,
  -- when the attempts of child runs that were reserved are used up, one after the
  -- other at the rate that is allowed
  children_until INTEGER NOT NULL DEFAULT 0,
  -- the same for agent attempts of its child runs, with the number that is allowed in
  -- an hour, 0 for any: that of the attempt that was reserved last
  agents_until    INTEGER NOT NULL DEFAULT 0,
  agents_per_hour INTEGER NOT NULL DEFAULT 0,
  UNIQUE (scope, controller)
) STRICT;

-- guard_version is resource_version as of the last write that a pass must have
-- seen. Progress of a child run raises only the latter: the runtime keeps
-- workflow_run_json, so a pass that is under way overwrites nothing. The end of a
-- child raises both: a pass that did not know of it may have decided wrongly.
-- wake counts the wake-ups of the key, handled is the count that the last pass
-- that ended had seen. They, suspension_json and stalled (the error after which
-- the key is not tried again by itself) outlive the queue row and are no part of
-- what resource_version counts.
CREATE TABLE resources (
  id                     INTEGER PRIMARY KEY,
  controller_id          INTEGER NOT NULL,
  scope                  TEXT NOT NULL,
  controller             TEXT NOT NULL,
  resource_key           TEXT NOT NULL,
  uid                    TEXT NOT NULL UNIQUE,
  resource_version       INTEGER NOT NULL CHECK (resource_version >= guard_version),
  guard_version          INTEGER NOT NULL CHECK (guard_version > 0),
  generation             INTEGER NOT NULL CHECK (generation > 0),
  wake                   INTEGER NOT NULL CHECK (wake >= handled),
  handled                INTEGER NOT NULL CHECK (handled >= 0),
  suspension_json        TEXT,
  stalled                TEXT,
  spec_json              TEXT NOT NULL,
  observed_generation    INTEGER NOT NULL CHECK (observed_generation >= 0),
  conditions_json        TEXT NOT NULL,
  workflow_run_json      TEXT,
  controller_status_json TEXT NOT NULL,
  deletion_timestamp     INTEGER,
  finalizers_json        TEXT NOT NULL,
  created_at             INTEGER NOT NULL,
  updated_at             INTEGER NOT NULL,
  UNIQUE (scope, controller, resource_key)
) STRICT;

-- claim_wake remembers the wake-ups that a claim has seen. held keeps the row of a
-- suspended resource from being claimed.
CREATE TABLE queue (
  resource_id        INTEGER PRIMARY KEY REFERENCES resources (id) ON DELETE CASCADE,
  controller_id      INTEGER NOT NULL,
  lane               INTEGER NOT NULL CHECK (lane BETWEEN 0 AND 2),
  available_at       INTEGER NOT NULL,
  held               INTEGER NOT NULL CHECK (held IN (0, 1)),
  consecutive_errors INTEGER NOT NULL CHECK (consecutive_errors >= 0),
  retries            INTEGER NOT NULL CHECK (retries >= 0),
  last_error         TEXT,
  claim_token        TEXT,
  claim_wake         INTEGER,
  claim_owner        TEXT,
  claim_expires_at   INTEGER,
  CHECK ((claim_token IS NULL) = (claim_wake IS NULL)),
  CHECK ((claim_token IS NULL) = (claim_owner IS NULL)),
  CHECK ((claim_token IS NULL) = (claim_expires_at IS NULL))
) STRICT;

-- The two halves of the queue: what may be claimed, oldest first in each lane,
-- and what is.
CREATE INDEX queue_free ON queue (controller_id, lane, available_at)
  WHERE claim_token IS NULL AND held = 0;
CREATE INDEX queue_claimed ON queue (controller_id, claim_expires_at)
  WHERE claim_token IS NOT NULL;

-- owner is the claim of the pass that reserved the effect last: only that pass may
-- say what came of it. attempt_action and attempt_at are the attempt that is under
-- way, or that brought the effect to its end: most effects need one, and the record
-- tells how it ended. attempts counts those before it, which have rows. A record that
-- was cut has an empty kind and an empty token.
CREATE TABLE effects (
  seq                 INTEGER PRIMARY KEY,
  resource_id         INTEGER NOT NULL REFERENCES resources (id) ON DELETE CASCADE,
  effect_key          TEXT NOT NULL,
  generation          INTEGER NOT NULL,
  kind                TEXT NOT NULL,
  state               TEXT NOT NULL CHECK (state IN ('pending', 'indeterminate') OR state IN ('applied', 'rejected')),
  request_fingerprint TEXT NOT NULL,
  token               TEXT NOT NULL,
  external_ref        TEXT,
  error               TEXT,
  started_at          INTEGER NOT NULL,
  completed_at        INTEGER,
  -- 1 after a person said that it was not applied: the next pass need not look
  apply_next          INTEGER NOT NULL CHECK (apply_next IN (0, 1)),
  owner               TEXT,
  attempts            INTEGER NOT NULL CHECK (attempts >= 0),
  attempt_action      TEXT CHECK (attempt_action IN ('observe', 'apply')),
  attempt_at          INTEGER,
  UNIQUE (resource_id, effect_key),
  CHECK ((attempt_action IS NULL) = (attempt_at IS NULL))
) STRICT;
CREATE INDEX effects_open ON effects (resource_id) WHERE state IN ('pending', 'indeterminate');

-- What was tried for an effect before its last attempt: a row for each call that is
-- over, and for each verdict.
CREATE TABLE effect_attempts (
  effect_seq INTEGER NOT NULL REFERENCES effects (seq) ON DELETE CASCADE,
  number     INTEGER NOT NULL CHECK (number > 0),
  action     TEXT NOT NULL CHECK (action IN ('observe', 'apply', 'verdict')),
  started_at INTEGER NOT NULL,
  ended_at   INTEGER,
  outcome    TEXT NOT NULL,
  error      TEXT,
  actor      TEXT,
  reason     TEXT,
  PRIMARY KEY (effect_seq, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_requests (
  seq               INTEGER PRIMARY KEY,
  request_id        TEXT NOT NULL UNIQUE,
  resource_uid      TEXT NOT NULL REFERENCES resources (uid) ON DELETE CASCADE,
  request_key       TEXT NOT NULL,
  input_fingerprint TEXT NOT NULL,
  workflow          TEXT NOT NULL,
  run_id            TEXT NOT NULL,
  state             TEXT NOT NULL
    CHECK (state IN ('pending', 'running', 'waiting', 'succeeded', 'failed', 'interrupted')),
  attempt           INTEGER NOT NULL CHECK (attempt > 0),
  interruptions     INTEGER NOT NULL CHECK (interruptions >= 0),
  starts_at         INTEGER,
  error             TEXT,
  code              TEXT,
  output_json       TEXT,
  UNIQUE (resource_uid, request_key)
) STRICT;

-- Every run, also one whose parent is gone: no reference to its request. A reason
-- to cancel, and paused, are for the process that runs the row; root_id is the folder
-- of runs that has its bundle; refused_by is the owner that cannot go on with it.
CREATE TABLE workflow_run_queue (
  seq              INTEGER PRIMARY KEY,
  scope            TEXT NOT NULL,
  run_id           TEXT NOT NULL,
  workflow         TEXT NOT NULL,
  source_json      TEXT,
  digest           TEXT NOT NULL,
  input_json       TEXT,
  status           TEXT NOT NULL
    CHECK (status IN ('queued', 'running', 'parked', 'done', 'failed', 'cancelled')),
  child_request_id TEXT,
  attempt          INTEGER NOT NULL,
  continuation_of  TEXT,
  detached         INTEGER NOT NULL CHECK (detached IN (0, 1)),
  paused           INTEGER NOT NULL CHECK (paused IN (0, 1)),
  root_id          TEXT,
  refused_by       TEXT,
  error            TEXT,
  cancel_reason    TEXT,
  due_at           INTEGER NOT NULL,
  fence            INTEGER NOT NULL CHECK (fence >= 0),
  claim_token      TEXT,
  claim_owner      TEXT,
  claim_expires_at INTEGER,
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL,
  UNIQUE (scope, run_id),
  CHECK ((claim_token IS NULL) = (claim_owner IS NULL)),
  CHECK ((claim_token IS NULL) = (claim_expires_at IS NULL))
) STRICT;
CREATE INDEX runs_open ON workflow_run_queue (scope, due_at, seq)
  WHERE child_request_id IS NOT NULL AND status IN ('queued', 'running');
CREATE INDEX runs_detached ON workflow_run_queue (scope, due_at, seq)
  WHERE detached = 1 AND paused = 0 AND status IN ('queued', 'running', 'parked');
CREATE INDEX runs_of_scope ON workflow_run_queue (scope, seq);
CREATE UNIQUE INDEX runs_continuations ON workflow_run_queue (scope, continuation_of)
  WHERE continuation_of IS NOT NULL;
CREATE INDEX runs_claimed ON workflow_run_queue (scope, claim_expires_at)
  WHERE claim_token IS NOT NULL;

-- Who runs the workers of a project: passes, child runs, detached runs, sources. At
-- most one process does, so that two do not compete.
CREATE TABLE workers (
  scope            TEXT PRIMARY KEY,
  claim_token      TEXT NOT NULL,
  claim_owner      TEXT NOT NULL,
  claim_expires_at INTEGER NOT NULL,
  since            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The projects in which no effect is applied.
CREATE TABLE freezes (
  scope       TEXT PRIMARY KEY,
  freeze_json TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The projects that were brought back from a copy, and whether somebody has accepted
-- what they do since. The empty scope stands for all that have no row of their own.
CREATE TABLE restorations (
  scope            TEXT PRIMARY KEY,
  restoration_json TEXT NOT NULL,
  accepted         INTEGER NOT NULL CHECK (accepted IN (0, 1))
) STRICT, WITHOUT ROWID;

-- What is told to hooks: due_at is NULL once it was. The rows stay for a time, so that
-- nothing is told twice.
CREATE TABLE notices (
  scope       TEXT NOT NULL,
  hook        TEXT NOT NULL,
  id          TEXT NOT NULL,
  notice_json TEXT NOT NULL,
  recorded_at INTEGER NOT NULL,
  due_at      INTEGER,
  attempts    INTEGER NOT NULL CHECK (attempts >= 0),
  last_error  TEXT,
  PRIMARY KEY (scope, hook, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX notices_due ON notices (scope, hook, due_at) WHERE due_at IS NOT NULL;

CREATE TABLE notice_cursors (
  scope  TEXT NOT NULL,
  hook   TEXT NOT NULL,
  cursor TEXT NOT NULL,
  PRIMARY KEY (scope, hook)
) STRICT, WITHOUT ROWID;

-- The definitions that a host of the project works with, or worked with last.
CREATE TABLE definitions (
  scope     TEXT NOT NULL,
  kind      TEXT NOT NULL CHECK (kind IN ('controller', 'workflow')),
  name      TEXT NOT NULL,
  place     TEXT NOT NULL,
  source    TEXT NOT NULL,
  digest    TEXT NOT NULL,
  loaded_at INTEGER NOT NULL,
  PRIMARY KEY (scope, kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE source_cursors (
  scope      TEXT NOT NULL,
  controller TEXT NOT NULL,
  source     TEXT NOT NULL,
  cursor     TEXT NOT NULL,
  PRIMARY KEY (scope, controller, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE source_deliveries (
  scope        TEXT NOT NULL,
  controller   TEXT NOT NULL,
  source       TEXT NOT NULL,
  delivery_id  TEXT NOT NULL,
  delivered_at INTEGER NOT NULL,
  PRIMARY KEY (scope, controller, source, delivery_id)
) STRICT, WITHOUT ROWID;

-- What the hosts told of their sources: status_json decides nothing. owner is the
-- process that wrote it last: when it is gone, the source does not run.
CREATE TABLE sources (
  scope       TEXT NOT NULL,
  controller  TEXT NOT NULL,
  source      TEXT NOT NULL,
  owner       TEXT NOT NULL,
  status_json TEXT NOT NULL,
  PRIMARY KEY (scope, controller, source)
) STRICT, WITHOUT ROWID;

-- Events outlive their resource. A cursor must never meet a number again, so the
-- newest event of the file is never pruned: the next one comes after it. Those of a
-- project are found by their numbers: a file of several projects is rare, and
-- another index would cost every pass a page.
CREATE TABLE events (
  seq          INTEGER PRIMARY KEY,
  scope        TEXT NOT NULL,
  recorded_at  INTEGER NOT NULL,
  controller   TEXT NOT NULL,
  resource_key TEXT NOT NULL,
  type         TEXT NOT NULL,
  payload_json TEXT NOT NULL
) STRICT;

-- The index of events by resource, up to a number: it follows the events in batches.
-- One that SQLite keeps would be a page of its own for each event of a pass, and the
-- larger part of what a pass with an effect writes.
CREATE TABLE event_index (
  controller   TEXT NOT NULL,
  resource_key TEXT NOT NULL,
  seq          INTEGER NOT NULL,
  PRIMARY KEY (controller, resource_key, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE event_index_end (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  seq       INTEGER NOT NULL
) STRICT;
INSERT INTO event_index_end VALUES (1, 0);

-- Events as they are found by resource: by the index, and those after its end by
-- looking at each.
CREATE VIEW events_by_resource AS
  SELECT i.seq, e.scope, e.recorded_at, i.controller, i.resource_key, e.type, e.payload_json
    FROM event_index i JOIN events e ON e.seq = i.seq
  UNION ALL
  SELECT seq, scope, recorded_at, controller, resource_key, type, payload_json
    FROM events WHERE seq > (SELECT seq FROM event_index_end);
