"""Check what is inside a built sdist and wheel: ``check_archives.py CHECKOUT SDIST WHEEL``."""

import sys
import tarfile
import zipfile
from pathlib import Path


def package_files(checkout: Path) -> set[str]:
    """Every file of the package that must be shipped, named as in the wheel."""
    folders = {"oop": checkout / "oop"}
    folders |= {f"oop/{name}": checkout / name for name in ("kernels", "operators", "punctuation")}
    found = {"oop/py.typed"}
    for prefix, folder in folders.items():
        found |= {f"{prefix}/{path.relative_to(folder).as_posix()}" for path in folder.rglob("*.py")}
    return found


def main(checkout: Path, sdist: Path, wheel: Path) -> None:
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = set(archive.namelist())

    sources = {f"csrc/{path.name}" for path in (checkout / "csrc").glob("*.[ch]")}
    sources |= {"csrc/build.py", "LICENSE"}
    for what, missing in {
        f"{sdist.name} lacks": (package_files(checkout) | sources) - in_sdist,
        f"{wheel.name} lacks": package_files(checkout) - in_wheel,
    }.items():
        if missing:
            raise SystemExit(f"{what} {', '.join(sorted(missing))}")
    if "-cp311-abi3-" not in wheel.name:
        raise SystemExit(f"{wheel.name} is not tagged cp311-abi3")
    top = {name.partition("/")[0] for name in in_wheel if ".dist-info/" not in name}
    if top != {"oop"}:
        raise SystemExit(f"{wheel.name} would install more than oop: {', '.join(sorted(top))}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
