"""What set-up installs with the system's package manager, and what keeps it from it. Nothing is installed here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("bash", "sed", "head", "uname", "dirname", "rm", "cat")

pytestmark = pytest.mark.skipif(not Path("/etc/debian_version").exists(), reason="only Debian has apt-get")


def program(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)


def set_up(folder: Path, user: int, **env: str) -> tuple[str, str]:
    """What a copy of the script called apt-get for, and what it said; all other programs are stand-ins."""
    tools = folder / "tools"
    program(folder / "venv" / "bin" / "python", "exit 0")
    program(tools / "apt-get", f'echo "$@" >> {folder}/installed')
    program(tools / "id", f"echo {user}")
    program(tools / "java", "exit 1")
    for name in TOOLS:
        (tools / name).symlink_to(shutil.which(name) or name)
    script = folder / "scripts" / "setup.sh"
    script.parent.mkdir()
    shutil.copy(ROOT / "scripts" / "setup.sh", script)
    env = {"PATH": str(tools), "VENV": "venv", **env}
    done = subprocess.run([str(tools / "bash"), str(script)], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    installed = folder / "installed"
    return installed.read_text() if installed.exists() else "", done.stderr


def test_root_gets_java_and_valgrind_and_is_told_how_to_do_without(tmp_path: Path) -> None:
    installed, said = set_up(tmp_path, 0)
    assert "install -y -qq openjdk-17-jre-headless\n" in installed
    assert "install -y -qq valgrind\n" in installed
    assert said.count("OOP_SETUP_APT=0 does without") == 2


@pytest.mark.parametrize(("user", "env"), [(0, {"OOP_SETUP_APT": "0"}), (1000, {}), (1000, {"OOP_SETUP_APT": "1"})])
def test_nothing_is_installed(tmp_path: Path, user: int, env: dict[str, str]) -> None:
    installed, said = set_up(tmp_path, user, **env)
    assert installed == ""
    assert "WARNING: no Java 17" in said and "WARNING: no valgrind" in said
