#!/usr/bin/env bash
# Requests run through a gateway (a release build) while its Redis store has one bad day after another. Prints for each day how long
# half, 99 % and all of the requests took before it and during it, and fails where one was lost or answered 5xx, or where 99 % took
# longer than the deadline of a check (50 ms) and 10 ms. Needs redis-server and a machine that does nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release --locked -p cupo-cli
CUPO_BINARY="$PWD/target/release/cupo" CUPO_STRICT=1 \
  cargo test --locked -p cupo-cli --test fleet bad_days -- --nocapture --test-threads 1
