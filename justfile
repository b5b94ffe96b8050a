# The same checks as CI, in the same order.
check:
    .ci/run

# The whole tour in a throw-away repository.
demo:
    cargo run --release -- demo

# The suite of the real Claude, Codex and Gemini programs; `just real claude` runs the tests of one.
real *tests:
    tests/real/run {{tests}}

# The same with the newest versions, and what differs from the pinned ones.
canary:
    tests/real/run --latest

# The figures of docs/performance.md; `just bench worktree` runs one section.
bench *sections:
    cargo bench --bench report -- {{sections}}

# Writes changed inline snapshots (needs cargo-insta); read the difference before you commit it.
snapshots:
    cargo insta test --accept --test it
