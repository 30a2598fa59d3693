#!/usr/bin/env bash
# Fuzzes every parser of what comes from outside, one after the other: scripts/fuzz.sh [SECONDS] [TARGET]...
# Needs a nightly Rust (rustup toolchain install nightly) and cargo-fuzz (cargo install cargo-fuzz --locked).
set -euo pipefail
cd "$(dirname "$0")/.."

seconds="${1:-60}"
shift || true
targets=("$@")
[ "${#targets[@]}" -gt 0 ] || mapfile -t targets < <(ls fuzz/seeds)

cargo +nightly --version >/dev/null || { echo "no nightly Rust: rustup toolchain install nightly" >&2; exit 1; }
cargo fuzz --version >/dev/null 2>&1 || { echo "no cargo-fuzz: cargo install cargo-fuzz --locked" >&2; exit 1; }

for target in "${targets[@]}"; do
  mkdir -p "fuzz/corpus/$target"
  printf '\n== %s for %s s\n' "$target" "$seconds"
  cargo +nightly fuzz run "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- -max_total_time="$seconds" -max_len=4096 -print_final_stats=1
done
