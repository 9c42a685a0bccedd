# The targets of mcplink, over a library that was built or installed.

# What the static library needs of the system: what `cargo rustc --crate-type staticlib -- --print native-static-libs` says.
if(APPLE)
    set(MCPLINK_NATIVE_LIBRARIES "-framework Security" "-framework CoreFoundation" iconv System m)
elseif(UNIX)
    set(MCPLINK_NATIVE_LIBRARIES gcc_s util rt pthread m dl c)
endif()

function(mcplink_add_targets archive library include)
    if(NOT TARGET mcplink_static)
        add_library(mcplink_static STATIC IMPORTED GLOBAL)
        set_target_properties(mcplink_static PROPERTIES
            IMPORTED_LOCATION "${archive}"
            INTERFACE_INCLUDE_DIRECTORIES "${include}"
            INTERFACE_LINK_LIBRARIES "${MCPLINK_NATIVE_LIBRARIES}")
        if(UNIX AND NOT APPLE)
            # A plug-in keeps its copy to itself: another plug-in with another version must not get to call it.
            set_property(TARGET mcplink_static PROPERTY INTERFACE_LINK_OPTIONS "LINKER:--exclude-libs,libmcplink.a")
        endif()
        add_library(mcplink::static ALIAS mcplink_static)

        add_library(mcplink_cpp INTERFACE IMPORTED GLOBAL)
        set_target_properties(mcplink_cpp PROPERTIES INTERFACE_LINK_LIBRARIES mcplink_static INTERFACE_COMPILE_FEATURES cxx_std_17)
        add_library(mcplink::cpp ALIAS mcplink_cpp)

        add_library(mcplink_shared SHARED IMPORTED GLOBAL)
        set_target_properties(mcplink_shared PROPERTIES IMPORTED_LOCATION "${library}" INTERFACE_INCLUDE_DIRECTORIES "${include}")
        add_library(mcplink::shared ALIAS mcplink_shared)
    endif()
endfunction()
