-- A store as version 1 made it, with one run of two items, one of them judged. Written by sqlite3's .dump; never edited.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE machine (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  identity TEXT NOT NULL,  -- equal for rows of one machine: roofs and compilers change, the machine stays
  name TEXT NOT NULL,
  facts TEXT NOT NULL      -- JSON: cpu, caches, compilers, kernel, roofs, sandbox
);
INSERT INTO machine VALUES(1,'b9b4348f0f9d0e9fe1d06e8efe4df7302ab55649280a57f4884289772a099fd9','this','A Processor','{"cpu":{"model":"A Processor"}}');
CREATE TABLE task (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  suite TEXT NOT NULL,
  category TEXT NOT NULL,
  text BLOB NOT NULL       -- packed: all that makes it this task
);
INSERT INTO task VALUES(1,'f9a5066c10f4dd3c20b7f7a9e1809e7390c08c003e7ea26c842b55c84c5669a2','Relu','mine','Activation',X'0f00000000000000789cab56ca4bcc4d55b2520a4acd2955aa0500278804f4');
CREATE TABLE source (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  size_bytes INTEGER NOT NULL,
  text BLOB NOT NULL       -- packed
);
INSERT INTO source VALUES(1,'777f5e104a1f67062f3e5fb9077598ecfd5875e5a6483a38f5510c56c9626246',11,X'0b00000000000000789cd3d757485428ca2c4bcce1020011840328');
INSERT INTO source VALUES(2,'77a16a6eeb4de8139cc8a88ee0e7cea86c17cf558d441fa998304020bad5f918',17,X'1100000000000000789c2bc9485548cb2c2a2e5128ce2f2d4a4ee502003a4f0645');
INSERT INTO source VALUES(3,'156a30cedd4ec260ea2a75da1c32302fa63913682bc81af897120aa9e34096a9',18,X'1200000000000000789c2bc94855284e4dcecf4b5128ce2f2d4a4ee5020040c30699');
CREATE TABLE candidate (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  source INTEGER NOT NULL REFERENCES source(id),
  file TEXT NOT NULL,
  settings TEXT NOT NULL,  -- JSON: tunables, compiler and flags that were set
  author TEXT NOT NULL,
  notes TEXT NOT NULL
);
INSERT INTO candidate VALUES(1,'d10756a5ac00a10d3c1176e5408ca61157fb63e685d3073cf1836635c218449e',2,'kernel.cpp','{"TILE":"8"}','','');
INSERT INTO candidate VALUES(2,'284d109c21d4b7eb1433a6f3cf81efaa82df70564552801a107f2a29f8febbc7',3,'kernel.cpp','{"TILE":"8"}','','');
CREATE TABLE parent (
  id INTEGER PRIMARY KEY,
  candidate INTEGER NOT NULL REFERENCES candidate(id) ON DELETE CASCADE,
  parent INTEGER NOT NULL REFERENCES candidate(id),
  UNIQUE (candidate, parent)
);
CREATE TABLE run (
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- a removed run's name is not used again
  origin TEXT NOT NULL UNIQUE,           -- the same wherever the run is imported
  began_at TEXT NOT NULL,
  changed_at TEXT NOT NULL,
  state TEXT NOT NULL,                   -- open, stopped, done
  command TEXT NOT NULL,
  suite TEXT NOT NULL,
  author TEXT NOT NULL,
  strategy TEXT NOT NULL,
  seed INTEGER,
  rules TEXT NOT NULL,                   -- JSON: how everything in it is judged
  planned INTEGER NOT NULL               -- items in it
);
INSERT INTO run VALUES(1,'25a9fd614e262a2f77aa17d9951a42f5','2026-11-15T11:08:05.614Z','2026-11-15T11:08:05.614Z','open','kw eval --batch old.jsonl','mine','','',7,'{}',2);
CREATE TABLE run_rival (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  source INTEGER NOT NULL REFERENCES source(id),
  UNIQUE (run, position)
);
INSERT INTO run_rival VALUES(1,1,0,'rival.cpp',1);
CREATE TABLE item (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  purpose TEXT NOT NULL,   -- judge; confirm: measured again after it was chosen
  task INTEGER REFERENCES task(id),
  candidate INTEGER REFERENCES candidate(id),
  build TEXT NOT NULL,     -- JSON: compiler, flags, the values of all tunables
  label TEXT NOT NULL,     -- JSON: what its author calls it
  problem TEXT NOT NULL,   -- why it can never be judged; empty: it can
  UNIQUE (run, position)
);
INSERT INTO item VALUES(1,1,1,'judge',1,1,'{}','1','');
INSERT INTO item VALUES(2,1,2,'judge',1,2,'{}','2','');
CREATE TABLE rival (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  UNIQUE (name, version)
);
INSERT INTO rival VALUES(1,'plain','1');
CREATE TABLE verdict (
  item INTEGER PRIMARY KEY REFERENCES item(id) ON DELETE CASCADE,  -- once, and never twice
  run INTEGER NOT NULL,
  task INTEGER NOT NULL,
  machine INTEGER NOT NULL REFERENCES machine(id),
  at TEXT NOT NULL,
  spent_s REAL NOT NULL,
  stage TEXT NOT NULL,
  accepted INTEGER NOT NULL,
  terms TEXT NOT NULL,     -- under which it was timed: "warm caches, 1 thread"
  time_ns REAL,
  rival INTEGER REFERENCES rival(id),  -- the first one; speed-ups against all are in their table
  speedup REAL,
  noise REAL,
  roof_fraction REAL,
  kept INTEGER NOT NULL,   -- taken from an earlier run, whose key was the same
  key TEXT NOT NULL,       -- a hash of all that the verdict depends on
  json BLOB NOT NULL       -- packed: as kw eval --json prints it
);
INSERT INTO verdict VALUES(1,1,1,1,'2026-11-15T11:08:05.626Z',0.5,'accepted',1,'warm caches, 1 thread',100.0,1,2.0,0.010000000000000000208,NULL,0,'',X'8000000000000000789c458b4b0a02310c86eff2af8b74166e720c2f50422723c54e33242908e2dd1d37bafd1e2f04fb03849bf48904ae558e9015143625c183ef72ea1f4f3061d7011ab3f7849d9f45ccd440f9724d88b64b190e5a723e5bd5ad6cc635da7f19da5cbe795ede1fbfa12a5e');
CREATE TABLE speedup (
  id INTEGER PRIMARY KEY,
  item INTEGER NOT NULL REFERENCES verdict(item) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  rival INTEGER NOT NULL REFERENCES rival(id),
  median REAL NOT NULL,
  low REAL NOT NULL,
  high REAL NOT NULL,
  pairs INTEGER NOT NULL,
  claimed INTEGER NOT NULL,
  times BLOB NOT NULL,     -- packed pairs: the candidate's and the rival's nanoseconds
  UNIQUE (item, position)
);
INSERT INTO speedup VALUES(1,1,0,1,2.0,1.9799999999999999822,2.0200000000000000177,8,0,X'8000000000000000789c6360a032706838808c2381200a083281200b081cd00000a3cb1019');
CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  at TEXT NOT NULL,
  kind TEXT NOT NULL,      -- began, resumed, stopped, done, problem, imported
  text TEXT NOT NULL
);
INSERT INTO event VALUES(1,1,'2026-11-15T11:08:05.614Z','began','kw eval --batch old.jsonl');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('run',1);
CREATE INDEX task_by_name ON task(name);
CREATE INDEX candidate_by_source ON candidate(source);
CREATE INDEX parent_by_parent ON parent(parent);
CREATE INDEX run_rival_by_source ON run_rival(source);
CREATE INDEX item_with_problem ON item(run) WHERE problem <> '';
CREATE INDEX item_by_task ON item(task);
CREATE INDEX item_by_candidate ON item(candidate);
CREATE INDEX verdict_by_run ON verdict(run, task, accepted, machine, rival, speedup);
CREATE INDEX verdict_by_task ON verdict(task, accepted, machine);
CREATE INDEX verdict_by_key ON verdict(key);
CREATE INDEX verdict_by_machine ON verdict(machine);
CREATE INDEX verdict_by_rival ON verdict(rival);
CREATE INDEX speedup_by_rival ON speedup(rival);
CREATE INDEX event_by_run ON event(run);
COMMIT;
PRAGMA user_version = 1;
