# find_package(mcplink): the targets mcplink::static, mcplink::shared and mcplink::cpp of an installation.
get_filename_component(MCPLINK_LIBDIR "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
find_path(MCPLINK_INCLUDE_DIR mcplink.h HINTS "${MCPLINK_LIBDIR}/../include" "${MCPLINK_LIBDIR}/../../include" REQUIRED NO_DEFAULT_PATH)
include("${CMAKE_CURRENT_LIST_DIR}/mcplink-targets.cmake")
mcplink_add_targets(
    "${MCPLINK_LIBDIR}/${CMAKE_STATIC_LIBRARY_PREFIX}mcplink${CMAKE_STATIC_LIBRARY_SUFFIX}"
    "${MCPLINK_LIBDIR}/${CMAKE_SHARED_LIBRARY_PREFIX}mcplink${CMAKE_SHARED_LIBRARY_SUFFIX}"
    "${MCPLINK_INCLUDE_DIR}")
