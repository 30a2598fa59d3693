#!/usr/bin/env bash
# What a reload costs those who ask meanwhile: the latency of requests through `cupo serve` with its policy file being swapped, and
# without.
#
#   scripts/bench-reload.sh [-r ROUNDS] [-s SECONDS] [-q RATE] [-c CONNECTIONS] [-e SECONDS] [-n CALLERS] [-b BINARY]
#
# RATE requests per second (5000) are sent when they are due, over CONNECTIONS (64), for SECONDS (10) a round; a request is as late as
# its answer came after that, so that one that is held up delays none of the figures that follow. In every other round the policy file
# is replaced by another one, and SIGHUP sent, once in -e SECONDS (1). CALLERS is how many callers its file names (none): they are
# compiled anew with each reload. The gateway has one worker.
#
# Needs the package nginx and two cores: the gateway, its reloads included, is alone on core 0, client and upstream are on core 1.
set -euo pipefail

rounds=7 seconds=10 rate=5000 connections=64 every=1 callers=0 binary=''
while getopts 'r:s:q:c:e:n:b:' flag; do
  case $flag in
    r) rounds=$OPTARG ;;
    s) seconds=$OPTARG ;;
    q) rate=$OPTARG ;;
    c) connections=$OPTARG ;;
    e) every=$OPTARG ;;
    n) callers=$OPTARG ;;
    b) binary=$OPTARG ;;
    *) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
done

root=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "$binary" ]; then
  (cd "$root" && cargo build -q --release -p cupo-cli)
  target=$(cd "$root" && cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
  binary=$target/release/cupo
fi

work=$(mktemp -d)
started=()
finish() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap finish EXIT
rustc -O --edition 2024 -o "$work/open-loop" "$root/scripts/open-loop.rs"

# A port that nothing listens on now.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 20000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

wait_for() {
  for _ in $(seq 200); do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
    sleep 0.05
  done
  echo "nothing listens on port $1: see below" >&2
  cat "$work"/*.log >&2 || true
  exit 1
}

upstream_port=$(free_port) port=$(free_port)
cat >"$work/upstream.conf" <<CONF
daemon off; master_process off; worker_processes 1;
pid $work/upstream.pid; error_log $work/upstream.log warn;
events { worker_connections 4096; }
http { access_log off; keepalive_requests 100000000; keepalive_timeout 300s;
  $(for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $work/$kind;"; done)
  server { listen 127.0.0.1:$upstream_port;
    location / { default_type application/json; return 200 '{"status":"ok","items":[1,2,3]}\n'; } } }
CONF

# A policy of the usual size that refuses nobody here; its limits differ by turn.
policy() {
  local turn=$1
  echo "workers: 1"
  echo "upstream: http://127.0.0.1:$upstream_port"
  [ "$callers" -eq 0 ] || echo "callers: callers.yaml"
  echo "rules:"
  echo "  - { name: all, key: global, limit: $((1000000 + turn))/s }"
  for n in $(seq 20); do
    echo "  - { name: route-$n, match: { path: \"/api/v$n/**\" }, key: [ip, route], limit: $((100 + turn))/minute }"
  done
  echo "  - { name: items, match: { path: \"/api/items/{id}\" }, key: ip, limit: { algorithm: token_bucket, capacity: $((1000000 + turn)), refill: 1000000/s } }"
}
if [ "$callers" -gt 0 ]; then
  { echo "callers:"; seq "$callers" | awk '{printf "  - { user: user-%d, times: %d }\n", $1, $1 % 9 + 2}'; } >"$work/callers.yaml"
fi
policy 0 >"$work/cupo.yaml"
for turn in $(seq 50); do policy "$turn" >"$work/policy-$turn.yaml"; done

nginx=$(command -v nginx || echo /usr/sbin/nginx)
taskset -c 1 "$nginx" -p "$work" -e "$work/upstream.log" -c "$work/upstream.conf" & started+=($!)
taskset -c 0 "$binary" serve -c "$work/cupo.yaml" --listen "127.0.0.1:$port" --log info >"$work/cupo.log" 2>&1 & started+=($!); pid=$!
wait_for "$upstream_port"
wait_for "$port"

# Replaces the policy until it is killed.
swapping() {
  local turn=0
  taskset -cp 1 "$BASHPID"
  while sleep "$every"; do
    turn=$((turn % 50 + 1))
    cp "$work/policy-$turn.yaml" "$work/next.yaml"
    mv "$work/next.yaml" "$work/cupo.yaml"
    kill -HUP "$pid"
  done
}

swaps() { grep -c 'another policy is in force' "$work/cupo.log" || true; }

# Prints "p50 p99 p999 max" of one round in microseconds; with $1 while the policy is being swapped.
round() {
  local swapper='' requests p50 p99 p999 max
  if [ -n "$1" ]; then swapping >/dev/null & swapper=$!; fi
  taskset -c 1 "$work/open-loop" "127.0.0.1:$port" "$rate" "$connections" "$seconds" >"$work/round"
  if [ -n "$swapper" ]; then kill "$swapper"; wait "$swapper" 2>/dev/null || true; fi
  read -r requests p50 p99 p999 max <"$work/round"
  echo "$p50 $p99 $p999 $max"
}

median() { sort -n | awk '{v[NR] = $1} END {print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}'; }

round '' >/dev/null
printf '%5s  %32s  %32s  %9s  %5s\n' round 'without: p50 p99 p99.9 max, µs' 'with: p50 p99 p99.9 max, µs' 'p99 ratio' swaps
for i in $(seq "$rounds"); do
  a=$(round '')
  before=$(swaps)
  b=$(round yes)
  swapped=$(($(swaps) - before))
  [ "$swapped" -gt 0 ] || { echo "the policy was not swapped:" >&2; tail -5 "$work/cupo.log" >&2; exit 1; }
  read -r a50 a99 a999 _ <<<"$a"
  read -r b50 b99 b999 _ <<<"$b"
  ratio=$(awk -v a="$a99" -v b="$b99" 'BEGIN {printf "%.2f", b / a}')
  for figure in a50 a99 a999 b50 b99 b999 ratio; do echo "${!figure}" >>"$work/$figure"; done
  printf '%5s  %32s  %32s  %9s  %5s\n' "$i" "$a" "$b" "$ratio" "$swapped"
done
for figure in a50 a99 a999 b50 b99 b999 ratio; do printf -v "$figure" '%s' "$(median <"$work/$figure")"; done
echo "median, µs: without p50 $a50, p99 $a99, p99.9 $a999; with p50 $b50, p99 $b99, p99.9 $b999; p99 ratio $ratio"
