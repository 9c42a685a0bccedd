# What `cmake --install` installs, and the target `uninstall`. CMakeLists.txt includes it if MCPLINK_INSTALL is on.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
option(MCPLINK_RELOCATABLE "The file for pkg-config finds its folders from its own: for archives that are unpacked anywhere" OFF)

install(DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "mcplink*.h" PATTERN "mcplink*.hpp")
# For bindings: see the head of tests/cffi/describe.py.
install(FILES include/mcplink.json include/mcplink.cdef DESTINATION "${CMAKE_INSTALL_DATADIR}/mcplink")
install(FILES LICENSE-MIT LICENSE-APACHE DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/mcplink" OPTIONAL)
set(MCPLINK_PC_PRIVATE)
if("static" IN_LIST MCPLINK_LIBRARY_TYPES)
    install(FILES "${MCPLINK_ARCHIVE}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    list(TRANSFORM MCPLINK_NATIVE_LIBRARIES REPLACE "^([^-].*)" "-l\\1" OUTPUT_VARIABLE MCPLINK_PC_PRIVATE)
    list(JOIN MCPLINK_PC_PRIVATE " " MCPLINK_PC_PRIVATE)
endif()
if("shared" IN_LIST MCPLINK_LIBRARY_TYPES)
    if(WIN32)
        install(FILES "${MCPLINK_LIBRARY}" DESTINATION "${CMAKE_INSTALL_BINDIR}")
        install(FILES "${MCPLINK_IMPORT}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    else()
        install(FILES ${MCPLINK_SHARED_FILES} DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    endif()
endif()

configure_file(cmake/mcplink-config-version.cmake.in mcplink-config-version.cmake @ONLY)
configure_package_config_file(cmake/mcplink-config.cmake.in mcplink-config.cmake
                              INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/mcplink" PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_BINDIR)
# Some systems install each part under a prefix of its own: then the folders are absolute.
foreach(MCPLINK_FOLDER LIBDIR INCLUDEDIR)
    set(MCPLINK_PC_${MCPLINK_FOLDER} "${CMAKE_INSTALL_${MCPLINK_FOLDER}}")
    if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_${MCPLINK_FOLDER}}")
        set(MCPLINK_PC_${MCPLINK_FOLDER} "\${prefix}/${CMAKE_INSTALL_${MCPLINK_FOLDER}}")
    endif()
endforeach()
set(MCPLINK_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
# A folder's name may have a space. pkg-config itself escapes pcfiledir.
set(MCPLINK_PC_QUOTE "\"")
if(MCPLINK_RELOCATABLE)
    file(RELATIVE_PATH MCPLINK_PC_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
    string(REGEX REPLACE "/$" "" MCPLINK_PC_PREFIX "\${pcfiledir}/${MCPLINK_PC_PREFIX}")
    set(MCPLINK_PC_QUOTE "")
endif()
configure_file(mcplink.pc.in mcplink.pc @ONLY)
install(FILES cmake/mcplink-targets.cmake "${CMAKE_CURRENT_BINARY_DIR}/mcplink-config.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/mcplink-config-version.cmake"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/mcplink")
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/mcplink.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# The manifest of a project that contains this one lists that project's files too.
if(MCPLINK_IS_TOP)
    add_custom_target(uninstall COMMAND "${CMAKE_COMMAND}" "-DMANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt"
                      -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/mcplink-uninstall.cmake" VERBATIM)
endif()
