//! Brings a database to the schema this program knows, or refuses one from the future before touching it.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};
use tracing::info;

use super::error::StoreError;

/// Run once each, in order. A released migration is never edited, only followed by another.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_sessions.sql"),
    include_str!("migrations/0002_handoffs.sql"),
    include_str!("migrations/0003_reviews.sql"),
];

/// The schema this program knows: how many migrations there are.
pub(super) const KNOWN: i64 = MIGRATIONS.len() as i64;

/// Applies the migrations that `db` lacks, all of them or none.
pub(super) fn migrate(db: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let fail = StoreError::at(path);
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&fail)?;
    let found: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(&fail)?;
    let pending = usize::try_from(found)
        .ok()
        .and_then(|done| MIGRATIONS.get(done..))
        .ok_or_else(|| StoreError::Newer { path: path.to_owned(), found, known: KNOWN })?;
    if pending.is_empty() {
        return Ok(());
    }
    for sql in pending {
        tx.execute_batch(sql).map_err(|error| upgrade_error(path, found, error))?;
    }
    tx.pragma_update(None, "user_version", KNOWN).map_err(&fail)?;
    tx.commit().map_err(&fail)?;
    info!(path = %path.display(), from = found, to = KNOWN, "database migrated");
    Ok(())
}

/// A disk that is full or a lock says more than the migration that met it.
fn upgrade_error(path: &Path, found: i64, error: rusqlite::Error) -> StoreError {
    match StoreError::at(path)(error) {
        StoreError::Sql { path, source } => StoreError::Upgrade { path, found, known: KNOWN, source },
        other => other,
    }
}
