# The canary of `tests/real/run --latest`: the suite with the newest programs, and what they do differently.
# Sourced by `run`, whose `install`, `suite`, `say` and `here` it uses.

# Writes a package.json and its lock for the newest version of everything that the pinned one names. TypeScript stays:
# from 7 on it has no `tsserver`, which the language server runs.
newest() {
    local to=$1
    node -e '
        const fs = require("fs");
        const [from, to] = process.argv.slice(1);
        const pinned = JSON.parse(fs.readFileSync(from));
        const moving = Object.keys(pinned.dependencies).filter((name) => name !== "typescript");
        for (const name of moving) pinned.dependencies[name] = "latest";
        fs.writeFileSync(to, JSON.stringify(pinned, null, 2) + "\n");
    ' "$here/package.json" "$to/package.json"
    (cd "$to" && npm install --package-lock-only --no-audit --no-fund --no-update-notifier --loglevel=error) >&2
}

# Lines only in the first file and only in the second one, with a word for each.
differences() {
    comm -23 "$1" "$2" | sed 's/^/gone:  /'
    comm -13 "$1" "$2" | sed 's/^/added: /'
}

# What the programs of a directory say about themselves, one file for each thing.
describe() {
    local programs=$1 to=$2 name
    mkdir -p "$to/schema"
    for name in claude codex gemini; do
        "$programs/$name" --version >"$to/$name.version"
    done
    flags "$programs/claude" --help >"$to/claude.flags"
    { flags "$programs/codex" --help; flags "$programs/codex" app-server --help; } | sort -u >"$to/codex.flags"
    flags "$programs/gemini" --help >"$to/gemini.flags"
    "$programs/codex" app-server generate-json-schema --experimental --out "$to/schema" >/dev/null
}

flags() { "$@" 2>/dev/null | grep -oE -- '--[a-z][a-z0-9-]+' | sort -u; }

# The rows of `src/backend/versions.toml` as they would be after a run of the suite with that result.
widening() {
    local status=$1 versions=$2 name found
    say "src/backend/versions.toml"
    if [ "$status" -ne 0 ]; then
        printf 'nothing is tested: the suite failed\n'
        return
    fi
    for name in claude codex gemini; do
        found=$(grep -oE '[0-9]+\.[0-9]+\.[0-9]+' "$versions/$name.version" | head -n 1)
        if awk -v row="[$name]" '$0 == row { here = 1; next } /^\[/ { here = 0 } here && /^tested/' src/backend/versions.toml |
            grep -qF "\"$found\""; then
            printf '[%s] is up to date\n' "$name"
        else
            printf '[%s] tested = "%s"\n' "$name" "$found"
        fi
    done
}

canary() {
    local work pinned latest agents name status=0
    # Not below the temp dir, where Codex has something to complain about.
    work=$(mktemp -d -p /var/tmp)
    # shellcheck disable=SC2064 # the name is local, and gone when the trap runs
    trap "rm -rf '$work'" EXIT
    mkdir "$work/packages" "$work/home" "$work/pinned" "$work/newest"
    newest "$work/packages"
    pinned=$(install "$here")
    latest=$(install "$work/packages")
    agents=$(install "$here/agents")

    HOME=$work/home describe "$pinned" "$work/pinned"
    HOME=$work/home describe "$latest" "$work/newest"
    say "the pinned programs by hand"
    COPPICE_REAL_RECORD=$work/pinned suite "$pinned" "$agents" raw:: >"$work/pinned.log" 2>&1 || { cat "$work/pinned.log"; exit 1; }
    say "the suite with the newest programs"
    COPPICE_REAL_RECORD=$work/newest suite "$latest" "$agents" "$@" || status=$?

    say "what differs"
    for name in claude codex gemini; do
        printf '%s: %s -> %s\n' "$name" "$(cat "$work/pinned/$name.version")" "$(cat "$work/newest/$name.version")"
        differences "$work/pinned/$name.flags" "$work/newest/$name.flags" | sed 's/^/  flag /'
        # A program that failed its turn by hand has recorded nothing.
        touch "$work/newest/$name.events"
        differences "$work/pinned/$name.events" "$work/newest/$name.events" | sed 's/^/  event /'
    done
    printf 'schema of codex app-server:\n'
    diff -r "$work/pinned/schema" "$work/newest/schema" >"$work/schema.diff" || true
    diff -rq "$work/pinned/schema" "$work/newest/schema" | sed "s|$work/||g; s/^/  /" || true
    head -n 200 "$work/schema.diff" | sed "s|$work/||g; s/^/  /"
    printf '  %s lines differ\n' "$(wc -l <"$work/schema.diff")"
    # A part of the suite says nothing about a version.
    [ "$#" -ne 0 ] || widening "$status" "$work/newest"
    return "$status"
}
