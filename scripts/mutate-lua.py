#!/usr/bin/env python3
"""Breaks the Lua files one place at a time and runs the tests that have to notice.

    scripts/mutate-lua.py [--jobs N] [FILE.lua ...]

Every mutant is one changed line in a copy of crates/store-redis/lua, which the tests read through CUPO_LUA_DIR. A mutant
that no test notices is printed, unless docs/mutation.md explains it in a row
`| FILE.lua | `line` | `mutated line` | why |`. Exits with 1 where one is neither noticed nor explained.
"""

import argparse
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LUA = os.path.join(ROOT, "crates/store-redis/lua")
PURE = ["number", "fixed_window", "ending_window", "sliding_window_log", "sliding_window_counter", "token_bucket", "leaky_bucket"]
SERVER = ["clock", "clock_virtual", "state", "log", "shell", "settle", "carry", "grant"]
# Test binaries with the tests to run, the quickest first.
STAGES_PURE = [
    ("lua_pure", ["the_frozen_traces_are_followed"]),
    ("lua_pure", ["every_small_history", "every_small_cancellation"]),
    ("lua_pure", ["random_states"]),
    ("lua_pure", []),
    # What only refunds and grants use.
    ("lua_refund", []),
    ("lua_grant", []),
]
STAGES_SERVER = [
    ("lua_server", ["the_present_window"]),
    ("lua_server", []),
    ("lua_unreadable", []),
    ("lua_cost", ["whatever_its_length", "few_commands", "two_writes", "less_than_a_hash"]),
]
STAGES_CARRY = [("lua_carry", [])]
STAGES_GRANT = [("lua_grant", [])]
STAGES_SETTLE = [
    ("lua_refund", []),
    ("lua_settle", []),
    ("lua_server", []),
]
SECONDS = 120

# What is changed, and into what: each place where a pattern is found makes a mutant per replacement.
SWAPS = [
    (r" <= ", [" < ", " == "]),
    (r" >= ", [" > ", " == "]),
    (r" < ", [" <= "]),
    (r" > ", [" >= "]),
    (r" == ", [" ~= "]),
    (r" ~= ", [" == "]),
    (r" \+ ", [" - "]),
    (r" - ", [" + "]),
    (r" \* ", [" / "]),
    (r" / ", [" * "]),
    (r" % ", [" * ", " / "]),
    (r"\bfloor_div\(", ["ceil_div("]),
    (r"\bceil_div\(", ["floor_div("]),
    (r"\bmin\(", ["max("]),
    (r"\bmax\(", ["min("]),
    (r"\bsaturating_sub\(([^(),]+), ([^()]+)\)", [r"(\1 - (\2))"]),
    (r"\bclock_expiry\(", ["floor_div("]),
    (r" and ", [" or "]),
    (r" or ", [" and "]),
    (r"\bnot ", [""]),
    (r"\btrue\b", ["false"]),
    (r"\bfalse\b", ["true"]),
    (r"(?<![\w.>'%])(\d+)(?![\w.'])", [lambda n: str(int(n) + 1), lambda n: str(int(n) - 1)]),
    (r"\b(ADMIT|DENY|IMPOSSIBLE)\b", [lambda n: {"ADMIT": "DENY", "DENY": "IMPOSSIBLE", "IMPOSSIBLE": "DENY"}[n]]),
    (r"\bpcall\b", ["call"]),
]
# A statement of its own line, which may be left out.
STATEMENT = re.compile(r"^\s+(?!local |return\b|if |elseif |else|end|for |while |repeat|until )[\w.\[\], ]+(\(| = ).*$|^\s+break$")


def mutants(lines):
    """Line number, original and mutated line of every mutant of a file."""
    for number, line in enumerate(lines):
        code = line.split("--", 1)[0].rstrip()
        if not code.strip() or code.startswith("local function") or code.startswith("return "):
            continue
        seen = {code}
        for pattern, replacements in SWAPS:
            for match in re.finditer(pattern, code):
                for new in replacements:
                    text = new(match.group(0)) if callable(new) else match.expand(new)
                    mutated = code[: match.start()] + text + code[match.end():]
                    if mutated not in seen:
                        seen.add(mutated)
                        yield number, line, mutated
        if STATEMENT.match(code) and code.count("(") == code.count(")"):
            yield number, line, ""


def build():
    """The test binaries by name."""
    command = ["cargo", "test", "-p", "cupo-store-redis", "--no-run", "--message-format=json"]
    for test in ["lua_pure", "lua_server", "lua_unreadable", "lua_cost", "lua_refund", "lua_settle", "lua_carry", "lua_grant"]:
        command += ["--test", test]
    if "CUPO_LUA_TESTS" in os.environ:
        return json.loads(os.environ["CUPO_LUA_TESTS"])
    messages = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    artifacts = [json.loads(message) for message in messages]
    return {a["target"]["name"]: a["executable"] for a in artifacts if a.get("executable")}


def passes(binary, tests, folder):
    """Whether the tests pass with the Lua files of `folder`."""
    environment = dict(os.environ, CUPO_LUA_DIR=folder, RUST_BACKTRACE="0", PROPTEST_MAX_SHRINK_ITERS="0")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    package = os.path.join(ROOT, "crates/store-redis")
    process = subprocess.Popen([binary, *tests], cwd=package, env=environment, start_new_session=True, **quiet)
    try:
        return process.wait(SECONDS) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        # The servers of a test that was cut off are in its session.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def survives(binaries, files, name, number, mutated):
    with tempfile.TemporaryDirectory(prefix="cupo-mutant-") as folder:
        for other, lines in files.items():
            lines = [*lines[:number], mutated, *lines[number + 1:]] if other == name else lines
            with open(os.path.join(folder, other + ".lua"), "w") as file:
                file.write("\n".join(lines))
        stages = STAGES_PURE if name in PURE else STAGES_SETTLE if name == "settle" else STAGES_CARRY if name == "carry" else STAGES_GRANT if name == "grant" else STAGES_SERVER
        return all(passes(binaries[binary], tests, folder) for binary, tests in stages)


def explained():
    """The mutants that docs/mutation.md explains."""
    path = os.path.join(ROOT, "docs/mutation.md")
    if not os.path.exists(path):
        return set()
    with open(path) as file:
        rows = re.findall(r"^\| (\w+)\.lua \| `(.+?)` \| (?:`(.+?)`|left out) \| ", file.read(), re.M)
    return {(name, old, new) for name, old, new in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*", help="such as token_bucket.lua; all if none is named")
    arguments = parser.parse_args()
    names = [os.path.basename(file).removesuffix(".lua") for file in arguments.files] or PURE + SERVER
    binaries, known = build(), explained()
    files = {}
    for name in PURE + SERVER:
        with open(os.path.join(LUA, name + ".lua")) as file:
            files[name] = file.read().split("\n")
    work = [(name, *mutant) for name in names for mutant in mutants(files[name])]
    killed, excused, alive = 0, 0, []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = pool.map(lambda m: survives(binaries, files, m[0], m[1], m[3]), work)
        for (name, number, line, mutated), lives in zip(work, results):
            if not lives:
                killed += 1
            elif (name, line.split("--", 1)[0].strip(), mutated.strip()) in known:
                excused += 1
            else:
                alive.append(name)
                print(f"{name}.lua:{number + 1}\n  {line.strip()}\n  {mutated.strip() or '(left out)'}", flush=True)
    print(f"{len(work)} mutants: {killed} noticed, {excused} explained, {len(alive)} neither")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
