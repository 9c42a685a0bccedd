"""Takes a release archive: packaging/recipes writes conandata.yml, with the addresses of the archives and their sums."""

import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy, get


class Mcplink(ConanFile):
    name = "mcplink"
    description = "The Model Context Protocol for programs without an async runtime: client and server, every revision"
    license = "MIT OR Apache-2.0"
    topics = ("mcp", "model-context-protocol", "json-rpc")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def set_version(self):
        self.version = self.version or next(iter(self.conan_data["sources"]))

    def package_id(self):
        # The interface is C, and the archive is the same for all compilers of a system.
        del self.info.settings.build_type
        if self.info.settings.os != "Windows":
            del self.info.settings.compiler

    @property
    def _target(self):
        arch = {"x86": "i686", "armv8": "aarch64"}.get(str(self.settings.arch), str(self.settings.arch))
        windows = "pc-windows-msvc" if self.settings.compiler == "msvc" else "pc-windows-gnu"
        return f"{arch}-" + {"Linux": "unknown-linux-gnu", "Macos": "apple-darwin", "Windows": windows}.get(str(self.settings.os), "unknown")

    def validate(self):
        if self._target not in self.conan_data["sources"][self.version]:
            raise ConanInvalidConfiguration(f"mcplink {self.version} has no release archive for {self._target}")

    def build(self):
        get(self, **self.conan_data["sources"][self.version][self._target], strip_root=True, destination=self.build_folder)

    def package(self):
        copy(self, "*", os.path.join(self.build_folder, "include"), os.path.join(self.package_folder, "include"))
        copy(self, "*", os.path.join(self.build_folder, "share", "mcplink"), os.path.join(self.package_folder, "res"))
        copy(self, "*", os.path.join(self.build_folder, "share", "licenses", "mcplink"), os.path.join(self.package_folder, "licenses"))
        shared = ["libmcplink.so*", "libmcplink.dylib", "libmcplink.dll.a", "mcplink.dll.lib"]
        for name in shared if self.options.shared else ["libmcplink.a", "mcplink.lib"]:
            copy(self, name, os.path.join(self.build_folder, "lib"), os.path.join(self.package_folder, "lib"))
        if self.options.shared:
            copy(self, "*.dll", os.path.join(self.build_folder, "bin"), os.path.join(self.package_folder, "bin"))

    def package_info(self):
        is_windows = self.settings.os == "Windows"
        self.cpp_info.libs = ["mcplink.dll" if is_windows and self.options.shared else "mcplink"]
        self.cpp_info.resdirs = ["res"]
        self.cpp_info.set_property("cmake_target_name", "mcplink::mcplink")
        self.cpp_info.set_property("cmake_target_aliases", ["mcplink::cpp"])
        self.cpp_info.set_property("pkg_config_name", "mcplink")
        if self.options.shared:
            if is_windows:
                self.cpp_info.defines = ["MCPLINK_SHARED"]
        elif is_windows:
            self.cpp_info.system_libs = ["bcrypt", "advapi32", "kernel32", "ntdll", "userenv", "ws2_32", "dbghelp"]
        elif self.settings.os == "Macos":
            self.cpp_info.frameworks = ["Security", "CoreFoundation"]
            self.cpp_info.system_libs = ["iconv", "m"]
        else:
            self.cpp_info.system_libs = ["gcc_s", "util", "rt", "pthread", "m", "dl", "c"]
            # A plug-in keeps its copy to itself, as with the files for CMake.
            self.cpp_info.sharedlinkflags = ["-Wl,--exclude-libs,libmcplink.a"]
