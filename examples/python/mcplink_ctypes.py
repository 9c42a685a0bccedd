#!/usr/bin/env python3
"""MCP for Python programs with ctypes alone: a client, a server, and a pump that runs callbacks on a
thread of the program.

    MCPLINK_LIBRARY=target/release/libmcplink.so examples/python/mcplink_ctypes.py call greet '{"name":"Python"}' -- ./hello_server
    MCPLINK_LIBRARY=target/release/libmcplink.so examples/python/mcplink_ctypes.py serve

It uses only include/mcplink.h. So it also shows the tasks of a binding for another language: ownership,
and the dispatch of callbacks.
"""

import ctypes
import itertools
import json
import os
import sys
import threading
from ctypes import CFUNCTYPE, POINTER, byref, c_bool, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_void_p

OK, TOOL_ERROR, PENDING = 0, 1, 2
MEASURE = c_size_t(-1).value  # MCPLINK_NUL
FOREVER = c_uint32(-1).value  # MCPLINK_FOREVER


class View(ctypes.Structure):
    """mcplink_str_t: a view of text that another object owns."""

    _fields_ = [("ptr", c_void_p), ("len", c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.ptr, self.len).decode()


HANDLER = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
EVENT = CFUNCTYPE(None, c_void_p, c_int32, c_void_p)
DONE = CFUNCTYPE(None, c_void_p, c_void_p, c_int32, c_void_p, c_void_p)
PROGRESS = CFUNCTYPE(None, c_void_p, c_double, c_double, View)
DESTROY = CFUNCTYPE(None, c_void_p)

OUT = POINTER(c_void_p)
# Result type first, then the parameter types. Objects are plain pointers: callers must pass the right type.
PROTOTYPES = {
    "mcplink_version": (c_char_p,),
    "mcplink_error_free": (None, c_void_p),
    "mcplink_error_status": (c_int32, c_void_p),
    "mcplink_error_message": (c_char_p, c_void_p),
    "mcplink_status_name": (c_char_p, c_int32),
    "mcplink_json_text": (View, c_void_p),
    "mcplink_json_free": (None, c_void_p),
    "mcplink_instances": (c_int32, c_char_p, OUT, OUT),
    "mcplink_result_free": (None, c_void_p),
    "mcplink_result_text": (View, c_void_p),
    "mcplink_result_json": (c_void_p, c_void_p),
    "mcplink_pump_new": (c_int32, OUT, OUT),
    "mcplink_pump_free": (None, c_void_p),
    "mcplink_pump_wait": (c_int32, c_void_p, c_uint32),
    "mcplink_pump_dispatch": (c_int32, c_void_p, c_int32),
    "mcplink_pump_wakeup": (c_int32, c_void_p),
    "mcplink_client_options_new": (c_void_p,),
    "mcplink_client_options_free": (None, c_void_p),
    "mcplink_client_options_set_command": (c_int32, c_void_p, POINTER(c_char_p)),
    "mcplink_client_options_pass_env": (c_int32, c_void_p, c_char_p),
    "mcplink_client_options_set_url": (c_int32, c_void_p, c_char_p),
    "mcplink_client_options_set_instance": (c_int32, c_void_p, c_char_p),
    "mcplink_client_options_set_revisions": (c_int32, c_void_p, c_char_p),
    "mcplink_client_options_set_pump": (c_int32, c_void_p, c_void_p),
    "mcplink_client_options_on_elicit": (c_int32, c_void_p, HANDLER, c_void_p, DESTROY),
    "mcplink_client_options_on_event": (c_int32, c_void_p, EVENT, c_void_p, DESTROY),
    "mcplink_client_open": (c_int32, c_void_p, OUT, OUT),
    "mcplink_client_free": (None, c_void_p),
    "mcplink_client_revision": (View, c_void_p),
    "mcplink_client_list_tools": (c_int32, c_void_p, c_void_p, OUT, OUT),
    "mcplink_client_call_tool": (c_int32, c_void_p, c_char_p, c_char_p, c_size_t, c_void_p, OUT, OUT),
    "mcplink_client_call_tool_start": (
        c_int32, c_void_p, c_char_p, c_char_p, c_size_t, c_void_p, DONE, c_void_p, DESTROY, OUT, OUT,
    ),
    "mcplink_client_read_resource": (c_int32, c_void_p, c_char_p, c_void_p, OUT, OUT),
    "mcplink_call_options_new": (c_void_p,),
    "mcplink_call_options_free": (None, c_void_p),
    "mcplink_call_options_on_progress": (c_int32, c_void_p, PROGRESS, c_void_p, DESTROY),
    "mcplink_server_options_new": (c_void_p, c_char_p, c_char_p),
    "mcplink_server_options_free": (None, c_void_p),
    "mcplink_server_options_set_pump": (c_int32, c_void_p, c_void_p),
    "mcplink_server_new_with": (c_int32, c_void_p, OUT, OUT),
    "mcplink_server_free": (None, c_void_p),
    "mcplink_server_add_tool": (c_int32, c_void_p, c_void_p, HANDLER, c_void_p, DESTROY, OUT),
    "mcplink_server_remove_tool": (c_int32, c_void_p, c_char_p),
    "mcplink_server_serve_stdio": (c_int32, c_void_p, OUT),
    "mcplink_server_listen_http": (c_int32, c_void_p, c_void_p, c_char_p, OUT, OUT),
    "mcplink_listener_url": (View, c_void_p),
    "mcplink_listener_free": (None, c_void_p),
    "mcplink_tool_new": (c_void_p, c_char_p, c_char_p),
    "mcplink_tool_free": (None, c_void_p),
    "mcplink_tool_set_input_schema": (c_int32, c_void_p, c_char_p, c_size_t),
    "mcplink_request_args": (c_void_p, c_void_p),
    "mcplink_request_params": (c_void_p, c_void_p),
    "mcplink_responder_keep": (c_void_p, c_void_p),
    "mcplink_responder_free": (None, c_void_p),
    "mcplink_responder_progress": (c_int32, c_void_p, c_double, c_double, c_char_p),
    "mcplink_responder_text": (c_int32, c_void_p, c_char_p, c_size_t),
    "mcplink_responder_json": (c_int32, c_void_p, c_char_p, c_size_t),
    "mcplink_responder_tool_error": (c_int32, c_void_p, c_char_p, c_size_t),
}


def load():
    """Loads the library, and sets the prototypes of the functions that are used here."""
    library = ctypes.CDLL(os.environ.get("MCPLINK_LIBRARY", "libmcplink.so"))
    for name, (result, *parameters) in PROTOTYPES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, parameters
    return library


lib = load()


class Error(Exception):
    """A failure: a status and a sentence."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status
        self.name = lib.mcplink_status_name(status).decode()


def check(status, error=None):
    """Raises an Error if the status is negative; frees the error object."""
    message = lib.mcplink_error_message(error).decode()
    lib.mcplink_error_free(error)
    if status < 0:
        raise Error(status, message)
    return status


# Callbacks. There is one C callback of each type, which lives as long as the program. `user` is the number of
# the Python function to call, and `destroy` removes that function. So none is freed too early, and none leaks.

known, numbers = {}, itertools.count(1)


def user_of(callback):
    number = next(numbers)
    known[number] = callback
    return number


@DESTROY
def forget(user):
    del known[user]


@HANDLER
def on_request(user, request, responder):
    respond = Responder(responder)
    try:
        known[user](request, respond)
    except Exception as failure:  # An exception must not pass through the library.
        respond.tool_error(str(failure))


@EVENT
def on_event(user, event, params):
    known[user](event, parse(params))


@DONE
def on_done(user, _call, status, result, error):
    if result:
        known[user](status, str(lib.mcplink_result_text(result)))
    else:
        known[user](status, lib.mcplink_error_message(error).decode())


@PROGRESS
def on_progress(user, progress, total, message):
    known[user](progress, total, str(message))


def parse(node):
    """Converts a JSON value of the library to a Python value."""
    text = str(lib.mcplink_json_text(node))
    return json.loads(text) if text else None


class Responder:
    """Answers one request. It is valid while the handler runs; `keep` returns one that stays valid."""

    def __init__(self, pointer):
        self.pointer = pointer

    def text(self, text):
        text = text.encode()
        return lib.mcplink_responder_text(self.pointer, text, len(text))

    def json(self, value):
        return lib.mcplink_responder_json(self.pointer, json.dumps(value).encode(), MEASURE)

    def tool_error(self, text):
        return lib.mcplink_responder_tool_error(self.pointer, text.encode(), MEASURE)

    def progress(self, done, total):
        return lib.mcplink_responder_progress(self.pointer, done, total, None)

    def keep(self):
        return Responder(lib.mcplink_responder_keep(self.pointer))

    def free(self):
        lib.mcplink_responder_free(self.pointer)


class Pump:
    """Runs callbacks on a Python thread."""

    def __init__(self):
        out, error = c_void_p(), c_void_p()
        check(lib.mcplink_pump_new(byref(out), byref(error)), error)
        self.pointer, self.is_over = out, False
        self.thread = threading.Thread(target=self.run, name="pump")
        self.thread.start()

    def run(self):
        while not self.is_over:
            if lib.mcplink_pump_wait(self.pointer, FOREVER) > 0:
                lib.mcplink_pump_dispatch(self.pointer, 64)

    def close(self):
        """Ends the thread. Close all clients and servers that use the pump before."""
        self.is_over = True
        lib.mcplink_pump_wakeup(self.pointer)
        self.thread.join()
        lib.mcplink_pump_free(self.pointer)


def instances(name):
    """The servers that programs of this user have published under a name."""
    out, error = c_void_p(), c_void_p()
    check(lib.mcplink_instances(name.encode(), byref(out), byref(error)), error)
    found = parse(out)
    lib.mcplink_json_free(out)
    return found


class Client:
    """A client. It starts a server (`argv`), or connects to one over HTTP (`url`) or to a published one (`instance`: its id)."""

    def __init__(self, argv=None, url=None, instance=None, revisions=None, pump=None, elicit=None, event=None):
        options, out, error = lib.mcplink_client_options_new(), c_void_p(), c_void_p()
        if argv:
            words = [os.fsencode(word) for word in argv]
            check(lib.mcplink_client_options_set_command(options, (c_char_p * (len(words) + 1))(*words)))
            # The server may be this program, which needs MCPLINK_LIBRARY.
            check(lib.mcplink_client_options_pass_env(options, b"MCPLINK_LIBRARY"))
        if url:
            check(lib.mcplink_client_options_set_url(options, url.encode()))
        if instance:
            check(lib.mcplink_client_options_set_instance(options, instance.encode()))
        if revisions:
            check(lib.mcplink_client_options_set_revisions(options, revisions.encode()))
        if pump:
            check(lib.mcplink_client_options_set_pump(options, pump.pointer))
        if elicit:
            ask = user_of(lambda request, responder: responder.json(elicit(parse(lib.mcplink_request_params(request)))))
            check(lib.mcplink_client_options_on_elicit(options, on_request, ask, forget))
        if event:
            check(lib.mcplink_client_options_on_event(options, on_event, user_of(event), forget))
        status = lib.mcplink_client_open(options, byref(out), byref(error))
        lib.mcplink_client_options_free(options)
        check(status, error)
        self.pointer = out

    def revision(self):
        return str(lib.mcplink_client_revision(self.pointer))

    def result(self, function, *args):
        """Calls a function; returns the status, the text of the result, and the whole result."""
        out, error = c_void_p(), c_void_p()
        status = check(function(self.pointer, *args, byref(out), byref(error)), error)
        got = status, str(lib.mcplink_result_text(out)), parse(lib.mcplink_result_json(out))
        lib.mcplink_result_free(out)
        return got

    def tools(self):
        return [tool["name"] for tool in self.result(lib.mcplink_client_list_tools, None)[2]["tools"]]

    def call(self, tool, args=None, progress=None):
        """Calls a tool, and waits. Returns the status, OK or TOOL_ERROR, and the text."""
        options = lib.mcplink_call_options_new()
        if progress:
            lib.mcplink_call_options_on_progress(options, on_progress, user_of(progress), forget)
        try:
            args = json.dumps(args or {}).encode()
            return self.result(lib.mcplink_client_call_tool, tool.encode(), args, len(args), options)[:2]
        finally:
            lib.mcplink_call_options_free(options)

    def start(self, tool, args, done):
        """Calls a tool without waiting; `done` gets the status and the text."""
        error = c_void_p()
        args = json.dumps(args).encode()
        status = lib.mcplink_client_call_tool_start(
            self.pointer, tool.encode(), args, len(args), None, on_done, user_of(done), forget, None, byref(error)
        )
        check(status, error)

    def read(self, uri):
        return self.result(lib.mcplink_client_read_resource, uri.encode(), None)[1]

    def close(self):
        lib.mcplink_client_free(self.pointer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Server:
    """A server. A handler gets the arguments and a responder; text that it returns is the answer."""

    def __init__(self, name, version, pump=None):
        options, out, error = lib.mcplink_server_options_new(name.encode(), version.encode()), c_void_p(), c_void_p()
        if pump:
            check(lib.mcplink_server_options_set_pump(options, pump.pointer))
        status = lib.mcplink_server_new_with(options, byref(out), byref(error))
        lib.mcplink_server_options_free(options)
        check(status, error)
        self.pointer, self.listeners = out, []

    def add_tool(self, name, description, schema, handler):
        def answer(request, responder):
            text = handler(parse(lib.mcplink_request_args(request)), responder)
            if text is not None:
                responder.text(text)

        tool, error = lib.mcplink_tool_new(name.encode(), description.encode()), c_void_p()
        lib.mcplink_tool_set_input_schema(tool, json.dumps(schema).encode(), MEASURE)
        status = lib.mcplink_server_add_tool(self.pointer, tool, on_request, user_of(answer), forget, byref(error))
        lib.mcplink_tool_free(tool)
        check(status, error)

    def remove_tool(self, name):
        check(lib.mcplink_server_remove_tool(self.pointer, name.encode()))

    def listen(self, address="0"):
        """Listens for HTTP clients; returns the URL."""
        out, error = c_void_p(), c_void_p()
        check(lib.mcplink_server_listen_http(self.pointer, None, address.encode(), byref(out), byref(error)), error)
        self.listeners.append(out)
        return str(lib.mcplink_listener_url(out))

    def serve_stdio(self):
        error = c_void_p()
        check(lib.mcplink_server_serve_stdio(self.pointer, byref(error)), error)

    def close(self):
        for listener in self.listeners:
            lib.mcplink_listener_free(listener)
        lib.mcplink_server_free(self.pointer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def main(words):
    if words[:1] == ["serve"]:
        with Server("python", "1.0") as server:
            server.add_tool("greet", "Greets someone", NAME, lambda args, _: f"Hello, {args['name']}!")
            server.serve_stdio()
    elif words[:1] == ["call"] and "--" in words:
        at = words.index("--")
        with Client(argv=words[at + 1 :]) as client:
            status, text = client.call(words[1], json.loads(words[2]) if at > 2 else {})
            print(text)
            return status
    else:
        sys.exit(f"usage: {sys.argv[0]} serve | call TOOL [JSON] -- PROGRAM [ARGUMENT ...]")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
