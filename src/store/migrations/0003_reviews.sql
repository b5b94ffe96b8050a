-- What a person says about a session's changes, and which files they have looked at.
CREATE TABLE reviews (
    session TEXT NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    record  TEXT NOT NULL
) STRICT;
