//! Where a test may end the daemon: between any two effects.
//!
//! A debug build that finds `COPPICE_CRASH_AT=N` in its environment aborts at the N-th point it passes, as hard as a
//! `kill -9`. Release builds have no such points.

#[cfg(debug_assertions)]
pub(super) fn point() {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static WANTED: LazyLock<Option<u64>> =
        LazyLock::new(|| std::env::var("COPPICE_CRASH_AT").ok().and_then(|text| text.parse().ok()));
    static PASSED: AtomicU64 = AtomicU64::new(0);

    if let Some(wanted) = *WANTED
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == wanted
    {
        std::process::abort();
    }
}

#[cfg(not(debug_assertions))]
pub(super) fn point() {}
