# The same checks as CI, in the same order.
check:
    .ci/run

# The whole tour in a throw-away repository.
demo:
    cargo run --release -- demo

# The figures of docs/performance.md; `just bench worktree` runs one section.
bench *sections:
    cargo bench --bench report -- {{sections}}

# Writes changed inline snapshots (needs cargo-insta); read the difference before you commit it.
snapshots:
    cargo insta test --accept --test it
