"""A program that records with the package: conan create builds and runs it."""

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class KymoTest(ConanFile):
    """Records a scope into a capture."""

    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain", "VirtualRunEnv"

    def requirements(self) -> None:
        """Take the package that was made."""
        self.requires(self.tested_reference_str)

    def layout(self) -> None:
        """Keep builds of different settings apart."""
        cmake_layout(self)

    def build(self) -> None:
        """Compile."""
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self) -> None:
        """Run it, if this machine can."""
        if can_run(self):
            self.run(f"{self.cpp.build.bindir}/program", env="conanrun")
