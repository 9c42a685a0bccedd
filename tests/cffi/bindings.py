"""Python's cffi over mcplink.cdef: a module that is compiled against the header, and the shared library as it is. Both run a server and a client.

    tests/cffi/bindings.py FOLDER ARCHIVE SHARED_LIBRARY NATIVE_LIBRARIES
"""

import importlib.util
import json
import pathlib
import socket
import sys

import cffi

INCLUDE = pathlib.Path(__file__).parent.parent.parent / "include"
FOREVER = 0xFFFFFFFF


def compiled(folder, archive, native):
    """The C compiler compares each declaration of mcplink.cdef with the header."""
    builder = cffi.FFI()
    builder.cdef((INCLUDE / "mcplink.cdef").read_text())
    builder.set_source("_mcplink", "#include <mcplink.h>", include_dirs=[str(INCLUDE)], extra_objects=[archive], extra_link_args=native.split())
    file = builder.compile(tmpdir=folder)
    module = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location("_mcplink", file))
    spec.loader.exec_module(module)
    return module.ffi, module.lib


def loaded(library):
    ffi = cffi.FFI()
    ffi.cdef((INCLUDE / "mcplink.cdef").read_text())
    return ffi, ffi.dlopen(library)


def greets(ffi, lib):
    """A server with a tool in Python, and a client, over a socket pair."""
    text = lambda it: ffi.unpack(it.ptr, it.len).decode()
    destroyed = []

    @ffi.callback("mcplink_handler_fn")
    def greet(user, request, responder):
        name = text(lib.mcplink_json_str(lib.mcplink_json_get(lib.mcplink_request_args(request), b"name")))
        answer = f"Hello, {name}! {ffi.from_handle(user)}".encode()
        lib.mcplink_responder_text(responder, answer, len(answer))

    @ffi.callback("mcplink_destroy_fn")
    def destroy(user):
        destroyed.append(ffi.from_handle(user))

    def check(status):
        if status < 0:
            raise RuntimeError(ffi.string(lib.mcplink_error_message(err[0])).decode())

    err = ffi.new("mcplink_error_t **")
    server = lib.mcplink_server_new(b"python", b"1.0")
    tool = lib.mcplink_tool_new(b"greet", b"Greets someone")
    lib.mcplink_tool_add_param(tool, b"name", lib.MCPLINK_PARAM_STRING, lib.MCPLINK_PARAM_REQUIRED, ffi.NULL)
    user = ffi.new_handle("from Python")
    check(lib.mcplink_server_add_tool(server, tool, greet, user, destroy, err))
    lib.mcplink_tool_free(tool)
    ours, theirs = socket.socketpair()
    session, client, result = ffi.new("mcplink_session_t **"), ffi.new("mcplink_client_t **"), ffi.new("mcplink_result_t **")
    check(lib.mcplink_server_serve_fds_start(server, ours.fileno(), ours.fileno(), ffi.NULL, session, err))
    options = lib.mcplink_client_options_new()
    lib.mcplink_client_options_set_fds(options, theirs.fileno(), theirs.fileno())
    check(lib.mcplink_client_open(options, client, err))
    lib.mcplink_client_options_free(options)
    arguments = json.dumps({"name": "cffi"}).encode()
    check(lib.mcplink_client_call_tool(client[0], b"greet", arguments, len(arguments), ffi.NULL, result, err))
    said = text(lib.mcplink_result_text(result[0]))
    assert said == "Hello, cffi! from Python", said
    lib.mcplink_result_free(result[0])
    lib.mcplink_client_free(client[0])
    lib.mcplink_session_free(session[0])
    lib.mcplink_server_free(server)
    assert destroyed == ["from Python"], destroyed
    assert lib.MCPLINK_FOREVER == FOREVER
    print(said)


if __name__ == "__main__":
    folder, archive, shared, native = sys.argv[1:]
    greets(*compiled(folder, archive, native))
    greets(*loaded(shared))
