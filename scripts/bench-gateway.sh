#!/usr/bin/env bash
# CPU time per proxied request: nginx (proxy_pass, keep-alive upstream, limit_req) against a proxy of ours.
#
#   scripts/bench-gateway.sh [-r ROUNDS] [-d SECONDS] [-c CONNECTIONS] [-e] [-g] [-n] [-- COMMAND...]
#
# COMMAND is run with {listen} and {upstream} replaced by host:port; by default the bare forwarder
# (crates/server/examples/bare_proxy.rs), built here. -e makes nginx write the X-Forwarded-* and Forwarded fields as well,
# as the forwarder does; without it nginx does less, which is the harder comparison for us. -g runs the gateway, `cupo serve`
# with a limit that nobody reaches and all its response fields. -n runs it with a limit that everybody has reached, and nginx
# likewise: CPU time per 429.
#
# Needs the packages nginx and wrk, and two cores: the proxy under test is alone on core 0, client and upstream are on
# core 1. The rounds are interleaved; the figures are utime + stime of the proxy's process over the requests answered.
set -euo pipefail

rounds=7 seconds=4 connections=64 equal='' gateway='' denied=''
while getopts 'r:d:c:egn' flag; do
  case $flag in
    r) rounds=$OPTARG ;;
    d) seconds=$OPTARG ;;
    c) connections=$OPTARG ;;
    e) equal='proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Host $host;
      proxy_set_header Forwarded "for=$remote_addr;host=\"$http_host\";proto=$scheme";
      proxy_set_header Via "1.1 nginx";' ;;
    g) gateway=yes ;;
    n) gateway=yes denied=yes ;;
    *) sed -n '2,16s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
done
shift $((OPTIND - 1))

root=$(cd "$(dirname "$0")/.." && pwd)
if [ $# -eq 0 ]; then
  (cd "$root" && if [ -n "$gateway" ]; then cargo build -q --release -p cupo-cli; else cargo build -q --release -p cupo-server --example bare_proxy; fi)
  target=$(cd "$root" && cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
  if [ -n "$denied" ]; then
    set -- "$target/release/cupo" serve --listen '{listen}' --upstream 'http://{upstream}' --limit 1/day
  elif [ -n "$gateway" ]; then
    set -- "$target/release/cupo" serve --listen '{listen}' --upstream 'http://{upstream}' --limit 1000000000/s
  else
    set -- "$target/release/examples/bare_proxy" '{listen}' '{upstream}' 1
  fi
fi

work=$(mktemp -d)
started=()
finish() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap finish EXIT

# A port that nothing listens on now.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 20000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

wait_for() {
  for _ in $(seq 100); do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
    sleep 0.05
  done
  echo "nothing listens on port $1: see below" >&2
  cat "$work"/*.log >&2 || true
  exit 1
}

upstream_port=$(free_port) nginx_port=$(free_port) ours_port=$(free_port)

common() {
  cat <<CONF
daemon off; master_process off; worker_processes 1;
pid $work/$1.pid; error_log $work/$1.log warn;
events { worker_connections 4096; }
CONF
}

paths() {
  echo "access_log off; keepalive_requests 100000000; keepalive_timeout 300s;"
  for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $work/$1-$kind;"; done
}

{ common upstream; cat <<CONF
http { $(paths upstream)
  server { listen 127.0.0.1:$upstream_port;
    location / { default_type application/json; return 200 '{"status":"ok","items":[1,2,3]}\n'; } } }
CONF
} >"$work/upstream.conf"

rate=1000000r/s burst='burst=1000000 nodelay'
[ -z "$denied" ] || rate=1r/m burst=''
{ common proxy; cat <<CONF
http { $(paths proxy)
  limit_req_zone \$binary_remote_addr zone=z:1m rate=$rate; limit_req_status 429;
  upstream app { server 127.0.0.1:$upstream_port; keepalive 128; keepalive_requests 100000000; }
  server { listen 127.0.0.1:$nginx_port;
    location / { limit_req zone=z $burst;
      $equal
      proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; } } }
CONF
} >"$work/proxy.conf"

nginx=$(command -v nginx || echo /usr/sbin/nginx)
taskset -c 1 "$nginx" -p "$work" -e "$work/upstream.log" -c "$work/upstream.conf" & started+=($!)
taskset -c 0 "$nginx" -p "$work" -e "$work/proxy.log" -c "$work/proxy.conf" & started+=($!); nginx_pid=$!
command=("$@")
command=("${command[@]//'{listen}'/127.0.0.1:$ours_port}")
command=("${command[@]//'{upstream}'/127.0.0.1:$upstream_port}")
taskset -c 0 "${command[@]}" >"$work/ours.log" 2>&1 & started+=($!); ours_pid=$!
for port in "$upstream_port" "$nginx_port" "$ours_port"; do wait_for "$port"; done

# utime + stime in clock ticks; the command in parentheses may hold spaces.
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{print $12 + $13}'; }
hertz=$(getconf CLK_TCK)

# Prints "CPU-µs-per-request requests-per-second" of one round.
round() {
  local before after requests refused
  before=$(ticks "$1")
  taskset -c 1 wrk -t1 -c"$connections" -d"${seconds}s" "http://127.0.0.1:$2/api/items/7?page=2" >"$work/wrk"
  after=$(ticks "$1")
  refused=$(awk '/Non-2xx/ {print $NF}' "$work/wrk")
  requests=$(awk '/requests in/ {print $1}' "$work/wrk")
  # All pass or, but for the first of a limit, all are refused; anything else is no measurement.
  if grep -q 'Socket errors' "$work/wrk" || [ "${refused:-0}" -lt "$([ -n "$denied" ] && echo $((requests - 9)) || echo 0)" ] ||
    { [ -z "$denied" ] && [ "${refused:-0}" -gt 0 ]; }; then cat "$work/wrk" >&2; exit 1; fi
  awk -v t=$((after - before)) -v h="$hertz" -v n="$requests" -v s="$seconds" \
    'BEGIN {printf "%.2f %.0f\n", t / h * 1e6 / n, n / s}'
}

median() { sort -n | awk '{v[NR] = $1} END {print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}'; }

round "$nginx_pid" "$nginx_port" >/dev/null
round "$ours_pid" "$ours_port" >/dev/null
printf '%5s  %22s  %22s  %6s\n' round 'nginx µs/req (req/s)' 'ours µs/req (req/s)' ratio
for i in $(seq "$rounds"); do
  read -r a a_rate < <(round "$nginx_pid" "$nginx_port")
  read -r b b_rate < <(round "$ours_pid" "$ours_port")
  ratio=$(awk -v a="$a" -v b="$b" 'BEGIN {printf "%.3f", b / a}')
  echo "$a" >>"$work/a"; echo "$b" >>"$work/b"; echo "$ratio" >>"$work/r"
  printf '%5s  %14s (%6s)  %14s (%6s)  %6s\n' "$i" "$a" "$a_rate" "$b" "$b_rate" "$ratio"
done
printf 'median: nginx %s µs, ours %s µs, ratio %s\n' "$(median <"$work/a")" "$(median <"$work/b")" "$(median <"$work/r")"
