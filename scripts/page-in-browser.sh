#!/usr/bin/env bash
# Looks at the pages of `cupo replay --html` and `cupo docs` in a real Chromium: writes screenshots, and fails if the browser
# complains of anything, such as what a page's content security policy forbids. Not part of scripts/test.sh: Chromium is 100 MB.
#
#   scripts/page-in-browser.sh [FOLDER]     where the pages and screenshots go; a new one if not said
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
  echo "no Chromium: apt-get install chromium" >&2
  exit 1
}

cat >"$folder/strict.yaml" <<'YAML'
rules:
  - { name: per-client, key: ip, limit: { algorithm: token_bucket, capacity: 10, refill: 6/minute } }
  - { name: login, match: { path: /login }, key: ip, limit: 5/minute }
YAML
sed 's/capacity: 10, refill: 6/capacity: 60, refill: 30/' "$folder/strict.yaml" >"$folder/loose.yaml"
awk 'BEGIN {
  srand(1)
  for (second = 0; second < 21600; second++) {
    many = 2 + int(3 * sin(second / 3000) ^ 2) + (second > 9000 && second < 9600 ? 4 : 0)
    for (n = 0; n < many; n++) {
      client = many > 5 && rand() < 0.5 ? 66 : int(200 * rand() ^ 3)
      printf "203.0.113.%d - - [29/Nov/2026:%02d:%02d:%02d +0000] \"GET %s HTTP/1.1\" 200 5 \"-\" \"-\"\n",
        client, second / 3600, second / 60 % 60, second % 60, client == 66 ? "/login" : "/"
    }
  }
}' >"$folder/access.log"

cargo build --quiet -p cupo-cli
cupo=target/debug/cupo
"$cupo" replay "$folder/strict.yaml" -i "$folder/access.log" --html "$folder/one.html" >/dev/null
"$cupo" replay "$folder"/{strict,loose}.yaml -i "$folder/access.log" --html "$folder/two.html" >/dev/null

for language in en es; do
  "$cupo" docs -c examples/plans.yaml --format html --lang "$language" --output "$folder/docs-$language.html"
done

look() { # PAGE SCREENSHOT SCHEME (0 is dark, 1 is light) [SIZE]
  "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --enable-logging=stderr --window-size="${4:-1200,2600}" \
    --blink-settings="preferredColorScheme=$3" --screenshot="$folder/$2" "file://$(realpath "$folder/$1")" 2>"$folder/said"
  if grep CONSOLE "$folder/said"; then
    echo "$1: the browser complains" >&2
    exit 1
  fi
  echo "$folder/$2"
}
look one.html one-light.png 1
look two.html two-light.png 1
look two.html two-dark.png 0
look docs-en.html docs-en-light.png 1 1100,4200
look docs-es.html docs-es-dark.png 0 1100,4200
look docs-es.html docs-es-phone.png 1 500,5200
