#!/usr/bin/env bash
# Create the virtual environment and install oop into it, editable, with everything that the checks need.
#   PYTHON  the interpreter to use; by default the first of python3, python3.14 … python3.11 that is new enough
#   VENV    where to put the environment; by default .venv
#   OOP_SETUP_APT  0: install no system packages. Otherwise, as root on Debian or Ubuntu, apt-get installs Java and
#           valgrind if they are missing; both are optional
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

VENV=${VENV:-.venv}

say() { printf '%s\n' "$*" >&2; }
stop() { say "setup: $*"; exit 1; }

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

choose_python() {
    local candidate
    if [ -n "${PYTHON:-}" ]; then
        command -v "$PYTHON" >/dev/null || stop "PYTHON=$PYTHON: no such program."
        new_enough "$PYTHON" || stop "PYTHON=$PYTHON is $("$PYTHON" --version 2>&1); oop needs Python 3.11 or newer."
        return
    fi
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null && new_enough "$candidate"; then
            PYTHON=$candidate
            return
        fi
    done
    if command -v python3 >/dev/null; then
        say "setup: python3 is $(python3 --version 2>&1); oop needs Python 3.11 or newer."
    else
        say "setup: there is no python3 here; oop needs Python 3.11 or newer."
    fi
    stop "install one and name it: make PYTHON=/path/to/python3.11 …"
}

create_environment() {
    if [ -x "$VENV/bin/python" ] && new_enough "$VENV/bin/python"; then
        return
    fi
    choose_python
    if ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
        stop "$PYTHON cannot create virtual environments. On Debian and Ubuntu: apt-get install python3-venv"
    fi
    say "setup: creating $VENV with $("$PYTHON" --version)"
    "$PYTHON" -m venv --clear "$VENV"
}

# The major version of the Java that Spark would start, or 0.
java_version() {
    local java=java text
    if [ -n "${JAVA_HOME:-}" ]; then
        java=$JAVA_HOME/bin/java
    fi
    if text=$("$java" -version 2>&1); then
        printf '%s\n' "$text" | sed -n 's/.*version "\([0-9][0-9]*\).*/\1/p' | head -n 1
    else
        echo 0
    fi
}

# Install a system package if that is possible without asking, as root on Debian or Ubuntu, and is not forbidden.
install_system() {
    [ "${OOP_SETUP_APT:-1}" != 0 ] && [ -f /etc/debian_version ] && [ "$(id -u)" = 0 ] || return 1
    say "setup: installing $1, $2 (OOP_SETUP_APT=0 does without)"
    apt-get update -qq >&2 && apt-get install -y -qq "$1" >&2 && return
    say "setup: that failed."
    return 1
}

ensure_java() {
    [ "$(java_version)" -lt 17 ] || return 0
    install_system openjdk-17-jre-headless "for the Spark engine" && return
    say "setup: WARNING: no Java 17 or newer. Everything but the Spark engine works without it. To have Spark too:"
    say "    Debian, Ubuntu:  sudo apt-get install openjdk-17-jre-headless"
    say "    Fedora:          sudo dnf install java-17-openjdk-headless"
    say "    macOS:           brew install openjdk@17, then export JAVA_HOME=\"\$(brew --prefix openjdk@17)\""
}

ensure_valgrind() {
    # There is no valgrind for today's Macs.
    [ "$(uname -s)" = Linux ] && ! command -v valgrind >/dev/null || return 0
    install_system valgrind "which counts the instructions of the C kernels" && return
    say "setup: WARNING: no valgrind. The test that compares the instructions of the C kernels is skipped. To have it:"
    say "    Debian, Ubuntu:  sudo apt-get install valgrind"
    say "    Fedora:          sudo dnf install valgrind"
}

install_packages() {
    local pip=("$VENV/bin/python" -m pip --disable-pip-version-check --quiet)
    # Without this an older library, or older objects, would be used if the C no longer compiles.
    rm -rf build kernels/_native*.so
    say "setup: installing packages (a few minutes the first time: Spark alone is over 400 MB)"
    # Build with the pinned tools of this environment, not with the newest ones of today.
    "${pip[@]}" install -c constraints.txt "setuptools>=77" "cffi>=1.16"
    "${pip[@]}" install -c constraints.txt --no-build-isolation -e ".[dev,spark]"
    "${pip[@]}" check
    if ! "$VENV/bin/python" -c 'import oop.kernels._native' 2>/dev/null; then
        say "setup: WARNING: the C kernels were not built, the Numba kernels will be used. To have the C kernels, install"
        say "    a C compiler and Python's headers (Debian: gcc python3-dev; macOS: xcode-select --install), then make clean setup"
    fi
}

create_environment
ensure_java
ensure_valgrind
install_packages
