#!/usr/bin/env bash
# Run the named checks, all of them even when one fails, and say at the end which failed.
#   scripts/check.sh format lint types layers tests dist
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

BIN=.venv/bin
failed=()

check() {
    case $1 in
        format) $BIN/python -m ruff format --check . ;;
        lint) $BIN/python -m ruff check . ;;
        types) $BIN/python -m mypy ;;
        layers) $BIN/lint-imports ;;
        tests)
            # on all cores; then the tests that measure time, one by one
            $BIN/python -m pytest -q -n auto --dist worksteal --benchmark-disable -m "not slow and not alone" &&
                $BIN/python -m pytest -q -m alone
            ;;
        dist) scripts/check_dist.sh ;;
        *) echo "no such check: $1" >&2; return 2 ;;
    esac
}

heading() {
    case $1 in
        format) echo "ruff format --check: the format of the code" ;;
        lint) echo "ruff check: common mistakes" ;;
        types) echo "mypy: the types of the package" ;;
        layers) echo "lint-imports: the direction of imports" ;;
        tests) echo "pytest: tests and doctests" ;;
        dist) echo "wheel and sdist: build, install elsewhere, import" ;;
        *) echo "$1" ;;
    esac
}

for name in "$@"; do
    printf '\n=== %s\n' "$(heading "$name")"
    SECONDS=0
    if check "$name"; then
        printf -- '--- %s: ok (%d s)\n' "$name" "$SECONDS"
    else
        printf -- '--- %s: FAILED (%d s)\n' "$name" "$SECONDS"
        failed+=("$name")
    fi
done

if [ ${#failed[@]} -gt 0 ]; then
    printf '\nFAILED: %s\n' "${failed[*]}"
    exit 1
fi
printf '\nAll checks passed: %s\n' "$*"
