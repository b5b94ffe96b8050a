-- A child belongs to its handoff; a parent may be deleted before it.
CREATE TABLE handoffs (
    id         TEXT NOT NULL PRIMARY KEY,
    parent     TEXT NOT NULL,
    child      TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    status     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    record     TEXT NOT NULL
) STRICT;

CREATE INDEX handoffs_by_parent ON handoffs (parent, created_at);
CREATE UNIQUE INDEX handoffs_by_child ON handoffs (child);

CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;

-- The tasks and the plan of a root session.
CREATE TABLE workflows (
    session TEXT NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    record  TEXT NOT NULL
) STRICT;
