"""include/mcplink.json and include/mcplink.cdef, made from the header: see abi.py, which writes and checks them.

mcplink.cdef has the declarations without preprocessor lines, for Python's cffi and LuaJIT's ffi. mcplink.json is for generators of bindings:

    version, constants    MCPLINK_NUL and MCPLINK_FOREVER, which are no constants of an enumeration
    enums                 name, doc, values
    objects               name, doc, free: the function that frees it, or null if it is only borrowed
    callbacks, functions  name, doc, returns, parameters; functions also must_use, threads, blocks, destroy
      parameters, returns   type, doc, and of pointers:
        owner               "caller": the caller frees what it gets, with `free`; "borrowed": valid as long as the object it came from, and for
                            callbacks until they return; "library": the function releases it; "destroy": kept until destroy runs
        null                "allowed", or "refused": MCPLINK_E_INVALID or a neutral value, never a crash
        length              of text and arrays: the parameter with the length
      threads               "any", or "one": not at the same time as another function on the same object, or a sentence; reading is always shared
      blocks                false, or the sentence that says until when
      destroy               the triples [callback, user, destroy]; one with two callbacks names both
"""

import json
import re

import abi

# Objects that one thread at a time may use or change: see "Threads" in the header.
ONE_THREAD = ["call_options", "client_options", "server_options", "http_options", "oauth", "oauth_client", "resource_server", "tool", "form", "prompt", "resource",
              "template", "writer", "config", "http_request", "output", "replay", "record", "result", "error", "json"]


def comments():
    """The comment of each declaration, by its name: lines without the stars."""
    text = abi.HEADER.read_text()
    found = {}
    for comment, code in re.findall(r"/\*\*\n(.*?) \*/\n((?:MCPLINK_|typedef).*?;)(?=\n\n|\n$)", text, flags=re.S):
        lines = [line.strip().removeprefix("*").strip() for line in comment.splitlines()]
        if "MCPLINK_API" in code:
            name = re.search(r"(mcplink_\w+)\(", code).group(1)
        elif "(*" in code:
            name = re.search(r"\(\*(\w+)\)", code).group(1)
        else:
            name = re.search(r"(\w+);$", code).group(1)
        found[name] = lines
    return found


def parts(lines):
    """The text, the parameters, the result and the note of a comment."""
    text, parameters, result, note = [], {}, [], []
    into = text
    for line in lines:
        if line.startswith("@param "):
            _, names, meaning = line.split(" ", 2)
            into = [meaning]
            parameters.update(dict.fromkeys(names.split(","), into))
        elif line.startswith("@return"):
            into = result
            into.append(line.removeprefix("@return").strip())
        elif line.startswith("@note "):
            into = note
            into.append(line.removeprefix("@note "))
        elif line or into is text:
            into.append(line)
    join = " ".join
    paragraphs = re.sub(r"\s*\n\s*", "\n", "\n".join("\n" if not line else line for line in text)).strip()
    return paragraphs, {name: join(it) for name, it in parameters.items()}, join(result), join(note)


def split(text):
    """Parameters of a prototype, as (type, name)."""
    if text.strip() == "void":
        return []
    for one in re.split(r",\s*(?![^(]*\))", text):
        kind, name = re.fullmatch(r"\s*(.*?)(\w+)\s*", one).groups()
        yield kind.strip(), name


def owned(kind, frees):
    """The name of the object that a pointer to a pointer, or a result, hands over."""
    name = re.fullmatch(r"(mcplink_\w+_t) \*\*?", kind)
    return name.group(1) if name and name.group(1) in frees else None


def meaning_of(name, parameter, docs):
    """The comment of a parameter, perhaps that of the function to which its own refers."""
    meanings = parts(docs.get(name, []))[1]
    meaning = meanings.get(parameter, meanings.get(parameter.removesuffix("_"), ""))
    other = re.match(r"(?:see|as for|as in) (mcplink_\w+)", meaning)
    if other and other.group(1) != name:
        return meaning_of(other.group(1), parameter, docs) or meaning
    if not meaning and name.endswith("_start"):
        common = "mcplink_client_call_tool_start"
        meaning = meaning_of(name.removesuffix("_start"), parameter, docs)
        if name != common and (parameter in ("callback", "user", "destroy", "out") or not meaning):
            meaning = meaning_of(common, parameter, docs) or meaning
    return meaning


def described(name, prototype, docs, frees):
    """A function, or a callback if `name` is a type."""
    is_callback = name.endswith("_fn")
    form = r"typedef (.*?)\(\*%s\)\((.*)\)" if is_callback else r"(.*?)%s\((.*)\)"
    returns, parameters = re.fullmatch(form % name, prototype).groups()
    returns = returns.strip()
    doc, meanings, result, note = parts(docs[name])
    listed = list(split(parameters))
    names = [it for _, it in listed]
    out = []
    for kind, parameter in listed:
        meaning = meaning_of(name, parameter, docs)
        one = {"name": parameter, "type": kind}
        if meaning:
            one["doc"] = meaning
        if "*" in kind or kind.endswith("_fn"):
            is_refused = re.search(r"NULL (and|is|are)\b[^.;]*refused|never NULL", meaning)
            says = "ay be NULL" if kind.endswith("**") else "NULL"
            is_allowed = says in meaning and not is_refused or parameter in ("err", "user", "destroy") or name.endswith("_free")
            # Functions without a status have a neutral value for NULL.
            is_neutral = parameter == names[0] and returns != "mcplink_status_t" and "mcplink_" in kind and not is_callback
            is_allowed = is_allowed or is_neutral
            one["null"] = "allowed" if is_allowed else "refused"
            if kind.endswith("**") and owned(kind, frees) and parameter not in abi.BORROWED:
                one |= {"owner": "caller", "free": frees[owned(kind, frees)]}
            elif name == frees.get(kind.removesuffix(" *")):
                one["owner"] = "library"
            elif parameter == "user" and not is_callback and "destroy" in names:
                one["owner"] = "destroy"
            elif not kind.endswith("_fn"):
                one["owner"] = "borrowed"
        after = names[names.index(parameter) + 1:]
        if kind.removeprefix("const ") in ("char *", "void *", "char *const *", "mcplink_call_t *const *") and after and after[0] in ("len", "count"):
            one["length"] = after[0]
        out.append(one)
    value = {"type": returns}
    if result:
        value["doc"] = result
    if "*" in returns or returns == "mcplink_str_t":
        handed = owned(returns, frees)
        value |= {"owner": "caller", "free": frees[handed]} if handed and not returns.startswith("const") else {"owner": "borrowed"}
    entry = {"name": name, "doc": doc, "returns": value, "parameters": out}
    if is_callback:
        return entry
    threads = re.search(r"Threads: (.*?)(?:\.|;| Blocks:|$)", note)
    object_type = out[0]["type"] if out else ""
    is_shared = not re.fullmatch(r"mcplink_(?:%s)_t \*" % "|".join(ONE_THREAD), object_type)
    said = threads.group(1).strip() if threads else "any" if is_shared else "one"
    entry["threads"] = "any" if said.startswith("any") else said
    blocks = re.search(r"Blocks: (.*?)(?:\.( |$)|$)", note)
    is_call = any(kind == "const mcplink_call_options_t *" for kind, _ in listed) and not name.endswith("_start")
    said = blocks.group(1) if blocks else "until the call has ended" if is_call else "no"
    entry["blocks"] = False if said.startswith("no") else said
    triples = []
    for at, parameter in enumerate(names):
        if parameter == "destroy":
            user = at - 1
            first = user
            while first > 0 and listed[first - 1][0].endswith("_fn"):
                first -= 1
            triples.append(names[first:user] + [names[user], parameter])
    if triples:
        entry["destroy"] = triples
    return entry


def constants():
    text = abi.HEADER.read_text()
    values = {name: int(number.rstrip("u"), 0) for name, number in re.findall(r"(?m)^#define (MCPLINK_VERSION_\w+) (\w+)$", text)}
    return values | {"MCPLINK_NUL": "SIZE_MAX", "MCPLINK_FOREVER": 0xFFFFFFFF}


def as_json():
    docs = comments()
    statements = list(abi.statements())
    functions = {}
    for statement in statements:
        if "MCPLINK_API " in statement:
            prototype = statement[statement.index("MCPLINK_API ") + len("MCPLINK_API "):]
            functions[re.search(r"(mcplink_\w+)\(", prototype).group(1)] = (prototype, "MCPLINK_NODISCARD" in statement)
    frees = {}
    for name, (prototype, _) in functions.items():
        if name.endswith("_free"):
            frees[re.search(r"\((mcplink_\w+_t) \*", prototype).group(1)] = name
    enums, objects, callbacks = [], [], []
    for statement in statements:
        if statement.startswith("typedef enum "):
            name = statement.split()[2]
            values = {it: int(value) for it, value in re.findall(r"(MCPLINK_\w+) = (-?\w+)", statement)}
            enums.append({"name": name, "doc": parts(docs[name])[0], "values": values})
        elif statement.startswith("typedef struct mcplink_"):
            name = statement.split()[-1]
            objects.append({"name": name, "doc": parts(docs[name])[0], "free": frees.get(name)})
        elif "(*mcplink_" in statement:
            name = re.search(r"\(\*(\w+)\)", statement).group(1)
            callbacks.append(described(name, statement, docs, frees))
    version = constants()
    whole = {"version": ".".join(str(version[f"MCPLINK_VERSION_{it}"]) for it in ("MAJOR", "MINOR", "PATCH")), "constants": version, "enums": enums,
             "objects": objects, "callbacks": callbacks,
             "functions": [described(name, prototype, docs, frees) | {"must_use": must_use} for name, (prototype, must_use) in functions.items()]}
    return "{\n" + ",\n".join(f' "{name}": {on_lines(value)}' for name, value in whole.items()) + "\n}\n"


def on_lines(value):
    """An entry of a list on a line, so that a change of the interface is a change of few lines."""
    if not isinstance(value, list):
        return json.dumps(value)
    return "[\n" + ",\n".join("  " + json.dumps(entry) for entry in value) + "\n ]"


def as_cdef():
    """MCPLINK_NUL is left out: it is the greatest size_t, and a constant of an enumeration has no room for it."""
    lines = ["/* Made from mcplink.h. MCPLINK_NUL is (size_t)-1. */"]
    numbers = ", ".join(f"{name} = {value}" for name, value in constants().items() if name != "MCPLINK_NUL")
    lines.append(f"enum {{ {numbers} }};")
    for statement in abi.statements():
        if "MCPLINK_API " in statement:
            statement = statement[statement.index("MCPLINK_API ") + len("MCPLINK_API "):]
        if statement and not statement.startswith("}"):
            lines.append(statement + ";")
    return "\n".join(lines) + "\n"
