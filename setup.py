"""What pyproject.toml cannot say: a wheel holds data_manifests/ inside the package, where there is no checkout beside it."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

MANIFESTS = sorted([*Path("data_manifests").glob("*.yaml"), *Path("data_manifests").glob("raw/*.tsv.gz")])


class WithManifests(build_py):
    """Also copies the manifests; in an editable install they stay where they are."""

    def run(self) -> None:
        """Build, and copy."""
        super().run()
        for path in [] if self.editable_mode else MANIFESTS:
            self.mkpath(str(Path(self.build_lib, "scirep_core", path.parent)))
            self.copy_file(str(path), str(Path(self.build_lib, "scirep_core", path)))

    def get_source_files(self) -> list[str]:
        """Return what a source distribution holds."""
        return [*super().get_source_files(), *map(str, MANIFESTS)]


setup(cmdclass={"build_py": WithManifests})
