"""The environment that the tests run in is the one that setup.py and constraints.txt describe."""

import importlib
import importlib.metadata
import shutil
import sysconfig
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import oop

ROOT = Path(__file__).parents[2]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    named = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in named}


def requirements() -> list[Requirement]:
    return [Requirement(text) for text in importlib.metadata.requires("oop") or []]


def test_version_is_the_installed_one():
    assert oop.__version__ == importlib.metadata.version("oop")


@pytest.mark.parametrize("requirement", requirements(), ids=lambda requirement: requirement.name)
def test_every_dependency_is_pinned_within_its_range(requirement):
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_the_c_kernels_are_built_where_they_can_be():
    headers = Path(sysconfig.get_paths()["include"], "Python.h")
    if shutil.which("cc") is None or not headers.exists():
        pytest.skip("no C compiler or no Python headers here")
    importlib.import_module("oop.kernels._native")
