#!/usr/bin/env python3
"""C programs that are made from the prototypes of the header.

    tests/cffi/calls.py nulls FILE.c      calls every function with NULL and 0 for everything
    tests/cffi/calls.py triples FILE.c    calls every function that takes (callback, user, destroy) so that it can't register them
    tests/cffi/calls.py cases FILE.h      every function with arguments that are picked at random: for fuzz.c
    tests/cffi/calls.py kinds FILE.h      every function that takes an object, once for each of them: for kinds.c
"""

import pathlib
import re
import sys

import abi


class Parameter:
    def __init__(self, text):
        self.type, self.name = re.match(r"^(.*?)(\w+)$", text).groups()
        self.type = self.type.strip()
        # A text is memory of the caller's: it is written without a look at what it is.
        self.object = re.fullmatch(r"(?:const )?mcplink_(?!str_t)(\w+)_t \*", self.type)
        self.out = None if self.name in abi.BORROWED else re.fullmatch(r"mcplink_(\w+)_t \*\*", self.type)

    def is_callback(self):
        return self.type.endswith("_fn") and self.type != "mcplink_destroy_fn"


class Function:
    def __init__(self, line):
        line = line.removeprefix("MCPLINK_NODISCARD ")
        self.returns, self.name, parameters = re.match(r"^(.*?)(mcplink_\w+)\((.*)\)$", line).groups()
        self.returns = self.returns.strip()
        self.parameters = [] if parameters == "void" else [Parameter(text) for text in split(parameters)]

    def takes_triple(self):
        return any(parameter.type == "mcplink_destroy_fn" for parameter in self.parameters)


def split(parameters):
    """At commas outside of parentheses."""
    return re.split(r", (?![^(]*\))", parameters)


def functions():
    lines = [line for line in abi.promises() if not line.startswith("typedef") and not re.match(r"^\w+: ", line)]
    return [Function(line) for line in sorted(lines)]


LISTENS = """/* What the log was told last: the reason of a function that returns no error. */
static char logged[1024];

static void log_it(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    (void)user, (void)level, (void)target;
    snprintf(logged, sizeof logged, "%s", text.ptr);
}

static void listen_to_log(void)
{
    logged[0] = 0;
    CHECK(mcplink_set_log(MCPLINK_LOG_WARNING, log_it, NULL, NULL) == MCPLINK_OK);
}
"""
HEAD = "/* Written by tests/cffi/calls.py from the prototypes of the header. */\n"


# What has no reason for a wrong argument: a signal handler may call it, or it is a getter.
SILENT = ["mcplink_server_stop", "mcplink_pump_wakeup", "mcplink_error_status"]


def nulls():
    """With NULL for everything: nothing is done, what is given by a pointer is set to NULL, what is returned can be used, and each failure has a reason."""
    text = [HEAD + '#include "check.h"', "", "int main(void)", "{"]
    for function in functions():
        arguments, before, after = [], [], []
        for parameter in function.parameters:
            if parameter.out:
                what = f"mcplink_{parameter.out.group(1)}_t"
                before.append(f"{what} *{parameter.name} = ({what} *)&before;")
                arguments.append(f"&{parameter.name}")
                if parameter.name == "err":
                    after.append("mcplink_error_free(err);")
                else:
                    after.append(f"CHECK(({parameter.name} != NULL) == (status == MCPLINK_OK));")
                    after.append(f"mcplink_{parameter.out.group(1)}_free({parameter.name});")
            elif parameter.type == "ptrdiff_t":
                arguments.append("-1")
            else:
                arguments.append("0")
        call = f"{function.name}({', '.join(arguments)})"
        bare = f"{function.name}({', '.join('-1' if p.type == 'ptrdiff_t' else '0' for p in function.parameters)})"
        fails = function.parameters and function.parameters[0].object and function.name != "mcplink_error_status"
        if function.returns == "void":
            calls = [f"{bare};", f"{call};"]
        elif function.returns == "mcplink_status_t":
            # A writer tells its first error when it is finished.
            is_told = function.name not in SILENT and not function.name.startswith("mcplink_writer_")
            calls = ["listen_to_log();", f"status = {bare};", f"CHECK(status_is_right(status, {int(bool(fails))}));"]
            if call != bare:
                calls += [f"status = {call};", f"CHECK(status_is_right(status, {int(bool(fails))}));"]
            if any(parameter.name == "err" and parameter.out for parameter in function.parameters):
                calls.append("CHECK(status >= 0 || mcplink_error_message(err)[0] != 0);")
            elif is_told:
                calls.append(f'CHECK(status != MCPLINK_E_INVALID || strstr(logged, "{function.name}: ") != NULL);')
        elif function.returns == "mcplink_str_t":
            calls = [f"CHECK_TEXT({bare}, \"\");"]
        elif made := re.fullmatch(r"mcplink_(\w+)_t \*", function.returns):
            calls = [f"mcplink_{made.group(1)}_free({bare});"]
        elif function.returns == "const char *":
            calls = [f"CHECK({bare} != NULL);"]
        else:
            calls = [f"(void){bare};"]
        text += ["    {", "        int before = 0;", "        mcplink_status_t status = 0;"]
        text += [f"        {line}" for line in before]
        text.append("        (void)before, (void)status;")
        text += [f"        {line}" for line in calls + after]
        text.append("    }")
    text += [f'    puts("{len(functions())} functions");', "    return 0;", "}", ""]
    status = ["/* Without its object a function fails as for a wrong argument, or as what is not built in. */",
              "static int status_is_right(mcplink_status_t status, int fails)", "{",
              "    return fails ? status == MCPLINK_E_INVALID || status == MCPLINK_E_UNSUPPORTED : status <= 0;", "}", ""]
    text[2:2] = [*status, LISTENS]
    return "\n".join(text)


def triples():
    """Where nothing can be registered, `destroy` runs all the same, once."""
    text = [HEAD + '#include "check.h"', "", "static int destroyed;", "static void destroy(void *user) { destroyed += *(int *)user; }", "",
            "int main(void)", "{", "    int one = 1;"]
    taken = [function for function in functions() if function.takes_triple()]
    for function in taken:
        made = re.fullmatch(r"mcplink_(\w+)_t \*", function.returns)
        arguments = []
        for parameter in function.parameters:
            if parameter.type == "mcplink_destroy_fn":
                arguments.append("destroy")
            elif parameter.name == "user":
                arguments.append("&one")
            else:
                arguments.append("0")
        call = f"{function.name}({', '.join(arguments)})"
        text.append("    destroyed = 0;")
        if made:
            text.append(f"    mcplink_{made.group(1)}_free({call});")
        else:
            text.append(f"    (void)!{call};")
        text.append(f"    CHECK(destroyed == 1);")
    text += [f'    puts("{len(taken)} functions");', "    return 0;", "}", ""]
    return "\n".join(text)


def kinds():
    """A table of calls: each passes one object, and NULL and 0 for all other arguments."""
    text, table, names = [HEAD], [], set()
    for function in functions():
        for at, parameter in enumerate(function.parameters):
            if not parameter.object:
                continue
            kind = parameter.object.group(1)
            names.add(kind)
            arguments, before, after = [], [], []
            for other in function.parameters:
                if other is parameter:
                    arguments.append(f"({parameter.type})object")
                elif other.name == "err" and other.out:
                    arguments.append("err")
                elif other.out:
                    before.append(f"mcplink_{other.out.group(1)}_t *{other.name} = NULL;")
                    arguments.append(f"&{other.name}")
                    after.append(f"mcplink_{other.out.group(1)}_free({other.name});")
                elif other.type == "ptrdiff_t":
                    arguments.append("-1")
                elif other.type == "mcplink_str_t *":
                    before.append(f"mcplink_str_t {other.name};")
                    arguments.append(f"&{other.name}")
                else:
                    arguments.append("0")
            call = f"{function.name}({', '.join(arguments)})"
            gives = function.returns == "mcplink_status_t" and function.name != "mcplink_error_status"
            text += [f"static mcplink_status_t call_{len(table)}(void *object, mcplink_error_t **err)", "{"]
            text += [f"    {line}" for line in before]
            text += ["    mcplink_status_t status = 0;", "    (void)err;", f"    status = {call};" if gives else f"    (void){call};"]
            text += [f"    {line}" for line in after] + ["    return status;", "}", ""]
            has_error = any(other.name == "err" and other.out for other in function.parameters)
            table.append(f'    {{ "{function.name}", KIND_{kind}, call_{len(table)}, {int(gives)}, {int(gives and at == 0)}, '
                         f"{int(gives and at == 0 and has_error)} }},")
    text[1:1] = ["enum { " + ", ".join(f"KIND_{name}" for name in sorted(names)) + ", KINDS };",
                 "static const char *const KIND_NAMES[] = { " + ", ".join(f'"mcplink_{name}_t"' for name in sorted(names)) + " };", ""]
    text += ["static const struct {", "    const char *name;", "    int kind;", "    mcplink_status_t (*call)(void *object, mcplink_error_t **err);",
             "    int gives_status, is_first, has_error;", "} CALLS[] = {", *table, "};", ""]
    return "\n".join(text)


# What is not called at random, and why.
LEFT_OUT = {
    "mcplink_server_serve_stdio": "takes the program's own streams",
    "mcplink_server_serve_stdio_start": "takes the program's own streams",
    "mcplink_session_wait": "waits for a peer that need not go",
    "mcplink_pump_free": "comes behind the handles that use it",
    "mcplink_oauth_set_store_folder": "makes folders wherever it is run",
}


def argument(function, at):
    parameter = function.parameters[at]
    following = function.parameters[at + 1] if at + 1 < len(function.parameters) else None
    if parameter.object:
        return f"({parameter.type})pick(KIND_{parameter.object.group(1)})"
    if parameter.out:
        return f"any(8) ? &{parameter.name} : NULL"
    if parameter.type == "mcplink_destroy_fn":
        return "destroyed"
    if parameter.is_callback():
        return f"any(8) ? on_{parameter.type[len('mcplink_'):-len('_fn')]} : NULL"
    if parameter.name == "user":
        return "registered()"
    if parameter.type in ("const char *", "const void *"):
        if following and following.name == "len":
            return f"({parameter.type})pick_text(&len)"
        return "pick_name()"
    if parameter.type == "const char *const *":
        return "pick_list()"
    if parameter.name == "len" and parameter.type == "size_t":
        return "len"
    if parameter.name == "count" and parameter.type == "size_t":
        return "below(3)"
    if re.fullmatch(r"mcplink_\w+", parameter.type) and parameter.type != "mcplink_status_t":
        return f"({parameter.type})pick_int()"
    simple = {
        "size_t": "pick_size()", "uint64_t": "pick_size()", "uint16_t": "(uint16_t)pick_size()", "uint32_t": "pick_time()", "int32_t": "pick_int()", "mcplink_status_t": "pick_int()",
        "int64_t": "pick_int()", "bool": "any(2)", "double": "pick_double()", "ptrdiff_t": "pick_fd()",
        "size_t *": "any(4) ? &some_size : NULL", "int64_t *": "any(4) ? &some_int : NULL", "double *": "any(4) ? &some_double : NULL", "bool *": "any(4) ? &some_bool : NULL",
        "mcplink_str_t *": "any(4) ? &some_text : NULL", "mcplink_call_t *const *": "pick_calls()",
        "const mcplink_json_t **": "any(4) ? &some_node : NULL", "const char **": "any(4) ? &some_chars : NULL", "mcplink_client_t **": "any(4) ? &some_client : NULL",
    }
    return simple[parameter.type]


def cases():
    text, kinds = [HEAD, "#define CASES \\"], set()
    listed = [function for function in functions() if function.name not in LEFT_OUT]
    for function in listed:
        for parameter in function.parameters:
            for match in (parameter.object, parameter.out):
                if match:
                    kinds.add(match.group(1))
        made = re.fullmatch(r"mcplink_(\w+)_t \*", function.returns)
        if made:
            kinds.add(made.group(1))
    for number, function in enumerate(listed):
        lines = []
        outs = [parameter for parameter in function.parameters if parameter.out]
        for parameter in outs:
            lines.append(f"mcplink_{parameter.out.group(1)}_t *{parameter.name} = NULL;")
        # Arguments have no order among themselves: a text is picked before the call that takes its length.
        arguments = []
        for at, parameter in enumerate(function.parameters):
            value = argument(function, at)
            if "pick_text" in value:
                lines.append(f"const void *text_{at} = pick_text(&len);")
                value = f"({parameter.type})text_{at}"
            arguments.append(value)
        call = f"{function.name}({', '.join(arguments)})"
        freed = re.fullmatch(r"mcplink_(\w+)_free", function.name)
        made = re.fullmatch(r"mcplink_(\w+)_t \*", function.returns)
        if freed:
            kind = freed.group(1)
            lines.append(f"mcplink_{kind}_free(({function.parameters[0].type})take(KIND_{kind}));")
        elif made:
            lines.append(f"keep(KIND_{made.group(1)}, {call});")
        elif function.returns == "mcplink_str_t":
            lines.append(f"use_text({call});")
        elif function.returns == "const char *":
            lines.append(f"use_name({call});")
        elif function.returns == "const mcplink_json_t *":
            lines.append(f"use_json({call});")
        else:
            lines.append(f"(void)!{call};" if function.returns != "void" else f"{call};")
        for parameter in outs:
            kind = parameter.out.group(1)
            lines.append(f"mcplink_error_free({parameter.name});" if kind == "error" else f"keep(KIND_{kind}, {parameter.name});")
        text.append(f"    case {number}: {{ \\\n        last = \"{function.name}\"; \\")
        text += [f"        {line} \\" for line in lines]
        text.append("        break; \\\n    } \\")
    text.append("    default: break;")
    text.append("")
    text.append(f"enum {{ COUNT_OF_CASES = {len(listed)} }};")
    ordered = sorted(kinds)
    text.append("enum { " + ", ".join(f"KIND_{kind}" for kind in ordered) + ", COUNT_OF_KINDS };")
    freeable = {function.name for function in functions()}
    text.append("#define FREE_ALL_OF(kind, object) \\\n    switch (kind) { \\")
    for kind in ordered:
        if f"mcplink_{kind}_free" in freeable:
            text.append(f"    case KIND_{kind}: mcplink_{kind}_free(object); break; \\")
    text.append("    default: break; \\\n    }")
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["nulls", file]:
            pathlib.Path(file).write_text(nulls())
        case ["triples", file]:
            pathlib.Path(file).write_text(triples())
        case ["cases", file]:
            pathlib.Path(file).write_text(cases())
        case ["kinds", file]:
            pathlib.Path(file).write_text(kinds())
        case _:
            sys.exit(__doc__)
