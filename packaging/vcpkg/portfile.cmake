# Takes a release archive: packaging/recipes writes archives.cmake, with the address of the archives and their sums.
include("${CMAKE_CURRENT_LIST_DIR}/archives.cmake")

if(VCPKG_TARGET_ARCHITECTURE STREQUAL "x64")
    set(triple x86_64)
elseif(VCPKG_TARGET_ARCHITECTURE STREQUAL "x86")
    set(triple i686)
elseif(VCPKG_TARGET_ARCHITECTURE STREQUAL "arm64")
    set(triple aarch64)
else()
    set(triple "${VCPKG_TARGET_ARCHITECTURE}")
endif()
if(VCPKG_TARGET_IS_MINGW)
    string(APPEND triple "-pc-windows-gnu")
elseif(VCPKG_TARGET_IS_WINDOWS)
    string(APPEND triple "-pc-windows-msvc")
elseif(VCPKG_TARGET_IS_OSX)
    string(APPEND triple "-apple-darwin")
else()
    string(APPEND triple "-unknown-linux-gnu")
endif()
if(NOT DEFINED MCPLINK_SHA512_${triple})
    message(FATAL_ERROR "mcplink ${VERSION} has no release archive for ${triple}")
endif()

vcpkg_download_distfile(archive
    URLS "${MCPLINK_URL}/mcplink-${VERSION}-${triple}.tar.gz"
    FILENAME "mcplink-${VERSION}-${triple}.tar.gz"
    SHA512 "${MCPLINK_SHA512_${triple}}"
)
vcpkg_extract_source_archive(source ARCHIVE "${archive}")

file(INSTALL "${source}/include" DESTINATION "${CURRENT_PACKAGES_DIR}")
file(INSTALL "${source}/share/mcplink" DESTINATION "${CURRENT_PACKAGES_DIR}/share")
file(INSTALL "${source}/lib/cmake" "${source}/lib/pkgconfig" DESTINATION "${CURRENT_PACKAGES_DIR}/lib")
if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
    file(GLOB libraries "${source}/lib/libmcplink.a" "${source}/lib/mcplink.lib")
else()
    file(GLOB libraries "${source}/lib/libmcplink.so*" "${source}/lib/libmcplink.dylib" "${source}/lib/libmcplink.dll.a" "${source}/lib/mcplink.dll.lib")
    file(GLOB programs "${source}/bin/*.dll")
    file(INSTALL ${programs} DESTINATION "${CURRENT_PACKAGES_DIR}/bin")
endif()
file(INSTALL ${libraries} DESTINATION "${CURRENT_PACKAGES_DIR}/lib")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
file(INSTALL "${source}/share/licenses/mcplink/" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}/licenses")
vcpkg_install_copyright(FILE_LIST "${source}/share/licenses/mcplink/LICENSE-MIT" "${source}/share/licenses/mcplink/LICENSE-APACHE"
    "${source}/share/licenses/mcplink/third-party.txt")

# The interface is C: programs built for debugging use the same library. Its files for CMake find the library from their own folder.
set(VCPKG_POLICY_MISMATCHED_NUMBER_OF_BINARIES enabled)
set(VCPKG_POLICY_SKIP_MISPLACED_CMAKE_FILES_CHECK enabled)
set(VCPKG_POLICY_SKIP_LIB_CMAKE_MERGE_CHECK enabled)
