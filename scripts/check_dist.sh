#!/usr/bin/env bash
# Build the sdist, and the wheel from it; install each into a new environment, and use it outside of the checkout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD
python=$root/.venv/bin/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A clean copy: an old build/ or egg-info would hide a file that MANIFEST.in forgets.
mkdir "$work/src"
tar -cf - --exclude=./.git --exclude=./.venv --exclude=./build --exclude=./dist --exclude='*.egg-info' \
    --exclude='*.so' --exclude=__pycache__ --exclude='.*_cache' --exclude=./.hypothesis . | tar -xf - -C "$work/src"

echo "building"
"$python" -m build --no-isolation --outdir "$work/dist" "$work/src" >"$work/build.log" 2>&1 || {
    cat "$work/build.log"
    exit 1
}
"$python" "$root/scripts/check_archives.py" "$root" "$work"/dist/*.tar.gz "$work"/dist/*.whl

try() {
    local name env
    name=$(basename "$1")
    echo "installing $name into a new environment"
    env=$work/env-${name##*.}
    "$python" -m venv "$env"
    "$env/bin/python" -m pip --disable-pip-version-check --quiet install -c "$root/constraints.txt" "$1"
    (cd "$work" && "$env/bin/python" -I "$root/scripts/smoke.py" && "$env/bin/oop" --help >/dev/null)
}

# Side by side, because most of the time goes into unpacking their dependencies.
try "$work"/dist/*.whl &
wheel=$!
try "$work"/dist/*.tar.gz &
sdist=$!
wait "$wheel"
wait "$sdist"
