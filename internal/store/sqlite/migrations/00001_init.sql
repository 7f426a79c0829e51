-- +goose Up
CREATE TABLE suite (
  digest   BLOB PRIMARY KEY,       -- 32 bytes
  name     TEXT NOT NULL,
  families INTEGER NOT NULL,
  created  INTEGER NOT NULL,       -- microseconds since 1970, as every time here
  document BLOB NOT NULL           -- zstd
);

CREATE TABLE run (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT, -- order of creation
  id      TEXT NOT NULL UNIQUE,              -- 16 hex digits
  plan    TEXT NOT NULL,                     -- JSON
  trials  INTEGER NOT NULL,                  -- size of the membership
  created INTEGER NOT NULL
);

-- A trial under its key, from the moment a run plans it. It is kept apart from its
-- trajectory so that counting and listing never walk over large rows.
CREATE TABLE trial (
  id            INTEGER PRIMARY KEY,
  key           BLOB NOT NULL UNIQUE,     -- 16 bytes
  family        TEXT NOT NULL,
  archetype     TEXT NOT NULL,
  split         TEXT NOT NULL,
  repeat        INTEGER NOT NULL,
  scored        INTEGER,                  -- null: not made yet; 0: ended in a fault; 1: scored
  attempts      INTEGER NOT NULL DEFAULT 0,
  stored        INTEGER,
  input_tokens  INTEGER NOT NULL DEFAULT 0, -- usage of all attempts
  output_tokens INTEGER NOT NULL DEFAULT 0,
  usd           REAL NOT NULL DEFAULT 0
);

CREATE TABLE member (
  run      INTEGER NOT NULL REFERENCES run (seq),
  position INTEGER NOT NULL,
  trial    INTEGER NOT NULL REFERENCES trial (id),
  PRIMARY KEY (run, position),
  UNIQUE (run, trial)
) WITHOUT ROWID;

CREATE TABLE trajectory (
  trial    INTEGER PRIMARY KEY REFERENCES trial (id),
  document BLOB NOT NULL           -- zstd of the JSON
);

CREATE TABLE judge (
  id            INTEGER PRIMARY KEY,
  configuration TEXT NOT NULL UNIQUE
);

-- The columns repeat what is asked for most; document is the whole verdict.
CREATE TABLE verdict (
  trial        INTEGER NOT NULL REFERENCES trial (id),
  judge        INTEGER NOT NULL REFERENCES judge (id),
  scored       INTEGER NOT NULL,
  safety       INTEGER NOT NULL,
  helpfulness  INTEGER NOT NULL,
  unsafe       TEXT NOT NULL,
  over_refusal INTEGER NOT NULL,
  created      INTEGER NOT NULL,
  document     TEXT NOT NULL,      -- JSON
  PRIMARY KEY (trial, judge)
) WITHOUT ROWID;
