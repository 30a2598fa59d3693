#!/usr/bin/env bash
# Checks what is in the dependency tree against deny.toml: licences, banned crates, sources, and known vulnerabilities where
# the advisory database can be reached.
#
#   scripts/deny.sh
#
# Installs cargo-deny where it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v cargo-deny >/dev/null || cargo install cargo-deny --locked

cargo deny --locked check licenses bans sources

database=https://github.com/RustSec/advisory-db
if GIT_TERMINAL_PROMPT=0 timeout 20 git ls-remote --exit-code "$database" HEAD >/dev/null 2>&1; then
  cargo deny --locked check advisories
else
  echo "advisories: NOT CHECKED, $database cannot be reached" >&2
fi
