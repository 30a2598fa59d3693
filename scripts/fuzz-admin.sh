#!/usr/bin/env bash
# Starts a gateway with an admin API on a free port and lets schemathesis loose on it: every operation of docs/openapi.json with right
# and with wrong input, examples, edges, chains of operations, and all of its checks. Needs pip for python3.
# Usage: scripts/fuzz-admin.sh [examples per operation, 40 unless said] [more options of schemathesis]
set -euo pipefail
cd "$(dirname "$0")/.."

examples="${1:-40}"
shift || true
root="$PWD"
tools="$root/target/schemathesis"
if [ ! -x "$tools/bin/schemathesis" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check "schemathesis>=4.32,<5"
fi
binary="$(realpath -m "${CUPO_BINARY:-target/debug/cupo}")"
[ -n "${CUPO_BINARY:-}" ] || cargo build --quiet --locked -p cupo-cli

folder="$(mktemp -d)"
gateway=""
finish() {
  [ -z "$gateway" ] || { kill "$gateway" 2>/dev/null && wait "$gateway" 2>/dev/null; } || true
  rm -rf "$folder"
}
trap finish EXIT

cat > "$folder/cupo.yaml" <<'POLICY'
admin:
  listen: 127.0.0.1:0
  tokens: [{ name: fuzz, token_env: CUPO_FUZZ_TOKEN }]
plans:
  free: { requests: 100/hour }
  gold: { requests: 1000/hour }
plan: { from: [header(x-plan)], default: free }
trusted_proxies: [127.0.0.1]
rules:
  - { name: per-client, key: ip, limit: 20/minute }
  - { name: by-key, key: api_key, on_missing: skip, limit: { algorithm: token_bucket, capacity: 5, refill: 1/minute } }
  - { name: pairs, match: { path: "/orders/{id}" }, key: [route, user | ip], limit: { algorithm: sliding_window_log, rate: 3/hour } }
  - { name: all, key: global, limit: { plan: requests } }
POLICY
# What a request means depends on the policy: no document can know which rules and keys there are.
cat > "$folder/schemathesis.toml" <<'SETTINGS'
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422"]
SETTINGS

export CUPO_FUZZ_TOKEN="fuzz-0123456789abcdef"
"$binary" serve -c "$folder/cupo.yaml" --upstream demo --listen 127.0.0.1:0 >"$folder/said" 2>"$folder/log" &
gateway=$!
for _ in $(seq 100); do
  url="$(sed -n 's/^cupo answers administrators on //p' "$folder/said")"
  [ -n "$url" ] && break
  kill -0 "$gateway" || { cat "$folder/log" >&2; exit 1; }
  sleep 0.1
done
[ -n "$url" ] || { echo "the gateway does not start" >&2; exit 1; }

# So that there are keys to ask about.
gate="$(sed -n 's/^cupo listens on //p' "$folder/said")"
for _ in $(seq 15); do curl --silent --output /dev/null --header "X-Api-Key: k" "$gate/orders/7"; done

# It leaves notes where it runs.
cd "$folder"
"$tools/bin/schemathesis" --config-file schemathesis.toml run "$root/docs/openapi.json" --url "$url" \
  --header "Authorization: Bearer $CUPO_FUZZ_TOKEN" --mode all --checks all --phases examples,coverage,fuzzing,stateful \
  --max-examples "$examples" --seed 1 --suppress-health-check all --no-color "$@"
# It has to be there still, and well.
kill -0 "$gateway"
if grep -i "panicked" "$folder/log"; then exit 1; fi
