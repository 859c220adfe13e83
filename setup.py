"""Packaging of oop. Tool settings are in pyproject.toml."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent


def version() -> str:
    """Read ``__version__`` as text: importing oop here would need its dependencies at build time."""
    text = (HERE / "oop" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        raise SystemExit('oop/__init__.py must have a line such as: __version__ = "0.1.0"')
    return found[1]


setup(
    name="oop",
    version=version(),
    description="Out-of-order, punctuation-driven dataflow on Arrow batches, embedded or on Spark",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11",
    platforms=["Linux", "macOS"],
    classifiers=[
        "Operating System :: MacOS",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: C",
        "Programming Language :: Python :: 3",
        "Typing :: Typed",
    ],
    # Follows the three symlinks oop/kernels, oop/operators and oop/punctuation.
    packages=find_packages(include=["oop", "oop.*"]),
    package_data={"oop": ["py.typed"]},
    cffi_modules=["csrc/build.py:ffi"],
    # The compiled module keeps to the stable ABI: one wheel serves every Python from 3.11 on.
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    install_requires=[
        "cffi>=1.16",
        "datasketches>=5.0",
        "numba>=0.60",
        "numpy>=1.26",
        "pyarrow>=17",
        "rich>=13",
    ],
    extras_require={
        "spark": [
            "pandas>=2.2",
            "protobuf>=5",
            "pyspark>=4.0",
        ],
        "dev": [
            "build>=1.2",
            "duckdb>=1.1",
            "hypothesis>=6.100",
            "import-linter>=2.1",
            "mypy>=1.11",
            "packaging>=24",
            "polars>=1.10",
            "pytest>=8.3",
            "pytest-benchmark>=5.0",
            "pytest-xdist>=3.6",
            "ruff>=0.8",
            "setuptools>=77",
        ],
    },
    entry_points={"console_scripts": ["oop = oop.cli:main"]},
)
