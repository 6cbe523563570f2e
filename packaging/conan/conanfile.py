"""The recorder for Conan 2: conan create conan, in a release's folder, where the sources' archive is."""

from pathlib import Path
from typing import ClassVar

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, unzip
from conan.tools.gnu import PkgConfigDeps


class Kymo(ConanFile):
    """libkymo, for programs that record."""

    name = "kymo"
    version = "@VERSION@"
    description = "Profiler of scopes, metrics and energy, on one time axis"
    license = "MIT"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options: ClassVar[dict[str, list[bool]]] = {"shared": [True, False]}
    default_options: ClassVar[dict[str, bool]] = {"shared": True}
    requires = "lz4/[>=1.9 <2]"

    def export_sources(self) -> None:
        """Take the archive along."""
        archive = f"kymo-{self.version}.tar.gz"
        copy(self, archive, str(Path(self.recipe_folder).parent), self.export_sources_folder)

    def layout(self) -> None:
        """Keep build and source apart."""
        cmake_layout(self)

    def validate(self) -> None:
        """Refuse older standards of C++."""
        check_min_cppstd(self, 17)

    def source(self) -> None:
        """Unpack the sources."""
        unzip(self, str(Path(self.export_sources_folder) / f"kymo-{self.version}.tar.gz"), strip_root=True)

    def generate(self) -> None:
        """Write what CMake needs."""
        PkgConfigDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for option in (
            "KYMO_BUILD_ANALYSIS",
            "KYMO_BUILD_BENCH",
            "KYMO_BUILD_COMMAND",
            "KYMO_BUILD_EXAMPLES",
            "KYMO_BUILD_PANEL",
            "KYMO_BUILD_TESTS",
            "KYMO_BUILD_VIEWER",
            "KYMO_BUILD_WEB",
            "KYMO_WARNINGS_AS_ERRORS",
        ):
            toolchain.cache_variables[option] = False
        toolchain.generate()

    def build(self) -> None:
        """Compile."""
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self) -> None:
        """Install."""
        copy(self, "LICENSE", self.source_folder, str(Path(self.package_folder) / "licenses"))
        CMake(self).install()

    def package_info(self) -> None:
        """Leave finding it to kymo's own CMake package."""
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs.append(str(Path("lib") / "cmake" / "kymo"))
        self.cpp_info.libs = ["kymo"]
        self.cpp_info.set_property("pkg_config_name", "kymo")
