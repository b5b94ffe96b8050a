CREATE TABLE projects (
    id         TEXT NOT NULL PRIMARY KEY,
    common_dir TEXT NOT NULL UNIQUE,
    record     TEXT NOT NULL
) STRICT;

-- A parent may be deleted before its children, so `parent` names a session without requiring it.
CREATE TABLE sessions (
    id         TEXT NOT NULL PRIMARY KEY,
    project    TEXT NOT NULL REFERENCES projects (id),
    parent     TEXT,
    status     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    removed_at INTEGER,
    record     TEXT NOT NULL
) STRICT;

CREATE TABLE turns (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    number  INTEGER NOT NULL,
    record  TEXT NOT NULL,
    raw     TEXT,
    PRIMARY KEY (session, number)
) STRICT;

CREATE TABLE prompts (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    number  INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    turn    INTEGER,
    body    TEXT NOT NULL,
    PRIMARY KEY (session, number)
) STRICT;

CREATE INDEX prompts_queued ON prompts (session, number) WHERE turn IS NULL;

-- AUTOINCREMENT: a number is never given twice, also when the newest session was deleted.
-- Rows are several kilobytes, which is why this is a rowid table and not clustered by session.
CREATE TABLE events (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    at      INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    version INTEGER NOT NULL,
    payload TEXT NOT NULL
) STRICT;

-- An index entry ends with the rowid, so this one is ordered by (session, seq).
CREATE INDEX events_by_session ON events (session);
