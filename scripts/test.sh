#!/usr/bin/env bash
# Installs what the tests need and passes them: format, lints, tests, documentation. Run from anywhere.
set -euo pipefail
cd "$(dirname "$0")/.."

# Debian packages that tests start or call; installed only where missing.
missing=()
for pair in curl:curl; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
if [ "${#missing[@]}" -gt 0 ]; then
  as_root=""
  [ "$(id -u)" = 0 ] || as_root=sudo
  $as_root apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

step() { printf '\n== %s\n' "$*"; "$@"; }

step cargo fmt --all --check
step cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
step cargo test --workspace --all-features --locked
step env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps --locked
