#!/bin/sh
# Mutation test of the algorithms, the number domain and the gate: every survivor has to be explained in docs/mutation.md.
# Takes about an hour on two idle cores. Needs `cargo install cargo-mutants --locked`. Further arguments go to
# cargo-mutants, such as `--file crates/core/src/algorithm/token_bucket.rs` or `--iterate`.
set -eu
cd "$(dirname "$0")/.."

export PROPTEST_MAX_SHRINK_ITERS=0 RUST_BACKTRACE=0
files="crates/core/src/number.rs crates/core/src/limit.rs crates/core/src/calendar.rs"
for file in crates/core/src/algorithm/*.rs; do
    files="$files $file"
done
case " $* " in
    *" --file "* | *" -f "*) set -- "$@" ;;
    *) for file in $files; do set -- "$@" --file "$file"; done ;;
esac

# Only the tests that know the algorithms: the rest of the workspace would only repeat what they say.
exec cargo mutants --package cupo-core --jobs 1 --timeout 300 --output target/mutants "$@" -- \
    --lib --test laws --test states --test limits --test vectors --test refund --test stated_bounds --test model
