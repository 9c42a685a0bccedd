#!/usr/bin/env python3
"""Programs that are made from the prototypes: what restricts access or trust never fails open, and a refused setter is remembered.

    tests/cffi/restricts.py check          every setter of the header stands in one of the two lists of this file, and in one only
    tests/cffi/restricts.py c FILE.c       calls every setter with what it may not take, and then what takes the object
    tests/cffi/restricts.py cpp FILE.cpp   the same through mcplink.hpp, for what restricts
"""

import pathlib
import re
import sys

import abi
import calls

HPP = abi.HEADER.parent / "mcplink.hpp"

# Objects that setters change, and whose refusals somebody tells.
KINDS = ["client_options", "call_options", "server_options", "http_options", "resource_server", "oauth", "oauth_client", "tool", "form", "prompt",
         "resource", "template", "exchange", "http_request"]
# Functions of other objects that are setters by their names.
VERBS = re.compile(r"_(set|add|on|clear|use|need|require|bind|admit|refuse|allow|deny|limit)_")

# What restricts access or trust: NULL, text without anything and numbers that mean nothing are refused. Behind a name: parameters that may be
# left out, as "parameter", and those that may be empty, as "parameter=empty".
RESTRICTS = {
    # Servers: who is let in, and under which conditions.
    "mcplink_http_options_on_authenticate": "",
    "mcplink_http_options_set_resource_server": "",
    "mcplink_http_options_add_token": "",
    "mcplink_http_options_add_host": "",
    "mcplink_http_options_add_trusted_proxy": "",
    "mcplink_http_options_add_origin": "",
    "mcplink_http_options_set_limit": "",
    "mcplink_resource_server_add_issuer": "",
    "mcplink_resource_server_add_audience": "",
    "mcplink_resource_server_add_implied": "",
    "mcplink_resource_server_set_keys": "",
    "mcplink_resource_server_set_keys_url": "",
    "mcplink_resource_server_set_verifier": "",
    "mcplink_resource_server_set_required_scopes": "",
    "mcplink_resource_server_set_root_certificates": "",
    "mcplink_resource_server_set_proxy": "",
    "mcplink_resource_server_set_dpop": "",
    "mcplink_resource_server_set_nonces": "",
    "mcplink_server_require_scopes": "",
    "mcplink_server_options_add_guard": "",
    "mcplink_server_options_add_rate_limit": "methods",
    "mcplink_server_options_add_state_key": "",
    "mcplink_server_options_set_limit": "",
    "mcplink_server_options_set_state_store": "",
    "mcplink_server_options_set_validator": "",
    "mcplink_http_request_admit": "",
    "mcplink_http_request_add_audience": "",
    "mcplink_http_request_bind_key": "",
    "mcplink_http_request_insufficient_scope": "",
    "mcplink_http_request_set_expiry": "",
    "mcplink_responder_require_scopes": "",
    "mcplink_exchange_set_addresses": "remote",
    # Clients: who is believed, what is sent to whom, on which way.
    "mcplink_client_options_set_bearer": "",
    "mcplink_client_options_set_bearer_hook": "",
    "mcplink_client_options_set_oauth": "",
    "mcplink_client_options_set_proxy": "",
    "mcplink_client_options_set_root_certificates": "",
    "mcplink_client_options_set_client_certificate": "",
    "mcplink_client_options_set_http_client": "",
    "mcplink_client_options_set_limit": "",
    "mcplink_client_options_set_validator": "",
    "mcplink_oauth_add_client": "",
    "mcplink_oauth_set_authorization_param": "value=empty",
    "mcplink_oauth_set_dpop": "",
    "mcplink_oauth_set_dpop_signer": "",
    "mcplink_oauth_set_enterprise": "",
    "mcplink_oauth_set_http_client": "",
    "mcplink_oauth_set_proxy": "",
    "mcplink_oauth_set_root_certificates": "",
    "mcplink_oauth_set_scopes": "scopes=empty",
    "mcplink_oauth_set_user_agent": "",
    "mcplink_oauth_set_workload": "client_id",
    "mcplink_oauth_client_set_audience": "",
    "mcplink_oauth_client_set_key": "key_id",
    "mcplink_oauth_client_set_secret": "",
    "mcplink_oauth_client_set_signer": "key_id",
}

# What takes nothing that could be missing, with which something is restricted or let go by its name.
BY_NAME = """
    mcplink_client_options_clear_authorization mcplink_client_options_clear_env mcplink_client_options_clear_proxy
    mcplink_client_options_inherit_env mcplink_client_options_set_strict
    mcplink_client_options_clear_validation mcplink_client_options_set_follow_redirects mcplink_client_options_use_default_roots
    mcplink_http_options_clear_authenticate mcplink_http_options_clear_resource_server mcplink_oauth_clear_proxy
    mcplink_oauth_set_client_credentials mcplink_oauth_set_offline_access mcplink_oauth_set_private_addresses mcplink_oauth_use_default_roots
    mcplink_oauth_use_default_scopes mcplink_resource_server_clear_proxy mcplink_resource_server_clear_required_scopes
    mcplink_resource_server_use_default_keys mcplink_resource_server_use_default_roots mcplink_server_options_set_single_use_state
    mcplink_server_options_clear_validation
"""
# What is said or shown of something: texts for people and models, what a request has, what is granted (without which nothing is).
DESCRIBES = """
    mcplink_tool_add_array mcplink_tool_add_choice mcplink_form_add_field mcplink_form_add_field_schema mcplink_form_add_integer
    mcplink_form_add_number mcplink_form_add_choice mcplink_form_add_choices mcplink_form_set_default_value
    mcplink_tool_add_integer mcplink_tool_add_number mcplink_tool_set_default_value
    mcplink_tool_add_param mcplink_tool_add_param_schema mcplink_tool_set_hint mcplink_tool_set_icons mcplink_tool_set_input_schema
    mcplink_tool_set_meta mcplink_tool_set_output_schema mcplink_tool_set_task_support mcplink_tool_set_title mcplink_prompt_add_argument
    mcplink_prompt_set_icons mcplink_prompt_set_meta mcplink_prompt_set_title mcplink_resource_set_annotations mcplink_resource_set_description
    mcplink_resource_set_icons mcplink_resource_set_meta mcplink_resource_set_mime_type mcplink_resource_set_size mcplink_resource_set_title
    mcplink_template_set_annotations mcplink_template_set_description mcplink_template_set_icons mcplink_template_set_meta
    mcplink_template_set_mime_type mcplink_template_set_title mcplink_client_options_set_info mcplink_client_options_set_title mcplink_client_options_set_description
    mcplink_client_options_set_website mcplink_client_options_set_icons
    mcplink_server_options_set_description mcplink_server_options_set_icons mcplink_server_options_set_instructions
    mcplink_server_options_set_title mcplink_server_options_set_website mcplink_server_options_set_send_server_info
    mcplink_resource_server_set_info mcplink_resource_server_set_metadata_url mcplink_resource_server_set_scopes_supported
    mcplink_oauth_set_client_name mcplink_oauth_set_client_document mcplink_exchange_add_header mcplink_exchange_set_body
    mcplink_http_request_set_scopes mcplink_call_options_set_meta
"""
# How something works, as far as it lets nobody in: the way to the peer, times, threads, callbacks that are told or asked.
WORKS = """
    mcplink_client_options_set_configured mcplink_client_options_set_instance mcplink_client_options_set_send_client_info mcplink_client_options_on_message mcplink_client_options_set_cache mcplink_client_options_set_era_memory
    mcplink_server_options_on_message mcplink_client_options_pass_env mcplink_client_options_set_assume_capabilities mcplink_client_options_set_die_with_parent
    mcplink_exchange_begin_stream mcplink_oauth_set_redirect mcplink_server_options_set_list_changes
    mcplink_call_options_on_progress mcplink_call_options_set_tag mcplink_call_options_set_bypass_cache mcplink_call_options_set_cancel mcplink_call_options_set_log_level
    mcplink_call_options_set_max_timeout_ms mcplink_call_options_set_timeout_ms mcplink_client_options_add_extension
    mcplink_client_options_on_elicit mcplink_client_options_on_elicit_url mcplink_client_options_on_event mcplink_client_options_on_notification
    mcplink_client_options_on_request mcplink_client_options_on_list_roots mcplink_client_options_on_sample mcplink_client_options_on_thread
    mcplink_client_options_set_cancel mcplink_client_options_set_close_timeout_ms mcplink_client_options_set_command
    mcplink_client_options_set_connect_timeout_ms mcplink_client_options_set_cwd mcplink_client_options_set_env mcplink_client_options_set_era
    mcplink_client_options_set_fds mcplink_client_options_set_header mcplink_client_options_set_keep_alive mcplink_client_options_on_log
    mcplink_client_options_set_max_list mcplink_client_options_set_max_started
    mcplink_client_options_set_max_timeout_ms mcplink_client_options_set_pipes mcplink_client_options_set_probe_timeout_ms
    mcplink_client_options_set_pump mcplink_client_options_set_retry_idempotent_calls mcplink_client_options_set_restart
    mcplink_client_options_set_revisions mcplink_client_options_set_sampling mcplink_client_options_set_slow_handler_ms
    mcplink_client_options_set_stderr mcplink_client_options_set_tasks mcplink_client_options_set_thread_prefix
    mcplink_client_options_set_thread_stack_size mcplink_client_options_set_timeout_ms mcplink_client_options_set_transport
    mcplink_client_options_set_url mcplink_http_options_set_event_store mcplink_http_options_set_keep_alive_ms mcplink_http_options_set_kept_events mcplink_http_options_set_old_paths
    mcplink_http_options_add_page mcplink_http_options_set_health
    mcplink_http_options_set_path mcplink_http_options_set_session_idle_ms mcplink_http_options_set_sessions mcplink_oauth_set_browser
    mcplink_oauth_on_log mcplink_oauth_set_login_timeout_ms mcplink_oauth_set_step_timeout_ms mcplink_oauth_set_store
    mcplink_oauth_set_store_folder mcplink_server_options_add_capability mcplink_server_options_add_extension
    mcplink_server_options_declare_capability mcplink_server_options_on_event
    mcplink_server_options_on_method mcplink_server_options_on_session mcplink_server_options_on_thread mcplink_server_options_set_cache
    mcplink_server_options_set_claim_stdio mcplink_server_options_set_drain_ms mcplink_server_options_set_event_bus mcplink_server_options_set_keep_alive
    mcplink_server_options_on_log mcplink_server_options_set_logging mcplink_server_options_set_page_size mcplink_server_options_set_pump
    mcplink_server_options_set_lease_ms mcplink_server_options_set_record_store
    mcplink_server_options_add_skills mcplink_server_options_set_replica mcplink_server_options_set_resource_updates mcplink_server_options_set_revisions mcplink_server_options_set_slow_handler_ms
    mcplink_server_options_set_state_lifetime_ms mcplink_server_options_set_tasks mcplink_server_options_set_thread_prefix
    mcplink_server_options_set_thread_stack_size
"""
# Functions of other objects that are called like setters.
OTHERS = """
    mcplink_cache_clear mcplink_config_set_input mcplink_responder_require_extension
    mcplink_client_require_extension mcplink_server_add_folder
    mcplink_guarded_request_require_scopes mcplink_guarded_request_refuse mcplink_group_add
    mcplink_responder_add_bytes mcplink_responder_add_json mcplink_responder_add_text
    mcplink_client_clear_cache mcplink_client_set_log_level mcplink_client_set_log_level_start mcplink_fetch_add_header mcplink_fetch_on_cancel mcplink_login_on_done mcplink_login_refuse mcplink_publication_set_title mcplink_pump_set_notify
    mcplink_responder_on_cancel mcplink_server_add_completer mcplink_server_add_prompt mcplink_server_add_resource mcplink_server_add_template mcplink_server_add_tool mcplink_set_log
    mcplink_transport_set_close mcplink_transport_set_ready mcplink_transport_set_send
"""
# Those that refuse a request, which stays refused when they fail.
REFUSES = """
    mcplink_http_request_challenge mcplink_http_request_unavailable mcplink_http_request_invalid_token
"""
FREE = [name for names in (BY_NAME, DESCRIBES, WORKS, OTHERS, REFUSES) for name in names.split()]


def kind_of(function):
    first = function.parameters[0] if function.parameters else None
    return first.object.group(1) if first and first.object and not first.type.startswith("const ") else None


def setters(functions):
    """Whatever changes an object that is described, and what else is called like a setter."""
    found = []
    for function in functions:
        if function.returns != "mcplink_status_t" or function.name == "mcplink_exchange_disconnected":
            continue
        if kind_of(function) in KINDS or VERBS.search(function.name + "_") and not function.name.startswith(("mcplink_output_", "mcplink_record_")):
            found.append(function)
    return found


def check(functions):
    names = {function.name for function in setters(functions)}
    listed = [*RESTRICTS, *FREE]
    wrong = [f"in no list: {name}" for name in sorted(names - set(listed))]
    wrong += [f"no setter of the header: {name}" for name in sorted(set(listed) - names)]
    wrong += [f"twice: {name}" for name in sorted({name for name in listed if listed.count(name) > 1})]
    if wrong:
        sys.exit("\n".join(["tests/cffi/restricts.py: say of each setter whether it restricts access or trust", *wrong]))


# What suits: by function and parameter, by parameter, by type.
GOOD = {
    "mcplink_client_options_set_revisions revisions": '"2026-07-28"', "mcplink_server_options_set_revisions revisions": '"2026-07-28"',
    "mcplink_http_options_set_path path": '"/mcp"', "mcplink_http_options_set_old_paths stream": '"/a"',
    "mcplink_http_options_set_health path": '"/h"', "mcplink_http_options_add_page path": '"/p"',
    "mcplink_http_options_set_old_paths post": '"/b"', "mcplink_exchange_set_addresses local": '"127.0.0.1:80"',
    "mcplink_exchange_set_addresses remote": '"127.0.0.1:4711"', "mcplink_oauth_client_set_key pem": "signing_key",
    "mcplink_client_options_set_command argv": "words", "mcplink_tool_add_choice values": "words", "mcplink_oauth_set_store_folder folder": '"."',
    "mcplink_resource_server_set_nonces keys": "secret", "mcplink_resource_server_set_nonces lifetime_ms": "60000",
    "mcplink_server_options_add_state_key key": "secret", "mcplink_server_require_scopes primitive": "MCPLINK_PRIMITIVE_TOOL",
    "mcplink_client_options_set_thread_stack_size bytes": "1 << 20", "mcplink_server_options_set_thread_stack_size bytes": "1 << 20",
}
TEXTS = {
    "pem": "certificate", "url": '"https://login.example/keys"', "schema": '"{\\"type\\":\\"object\\"}"', "icons": '"[{\\"src\\":\\"https://a.example/i\\"}]"',
    "meta": '"{}"', "annotations": '"{}"', "settings": '"{}"', "json": '"{\\"keys\\":[]}"', "issuer": '"https://second.example"', "target": '"t"',
    "algorithm": '"ES256"', "public_jwk": '"{\\"kty\\":\\"EC\\"}"',
    "host": '"files.example"', "origin": '"https://files.example"', "audience": '"https://files.example/mcp"', "token": '"token"',
}
ENUMS = {
    "mcplink_param_type": "MCPLINK_PARAM_STRING", "mcplink_subject": "MCPLINK_SUBJECT_ID_TOKEN", "mcplink_log_level": "MCPLINK_LOG_INFO",
    "mcplink_era": "MCPLINK_ERA_LEGACY", "mcplink_limit": "MCPLINK_LIMIT_MESSAGE_BYTES", "mcplink_http_limit": "MCPLINK_HTTP_LIMIT_SESSIONS",
    "mcplink_stderr": "MCPLINK_STDERR_INHERIT", "mcplink_dpop": "MCPLINK_DPOP_NEVER", "mcplink_primitive": "MCPLINK_PRIMITIVE_TOOL",
    "mcplink_list": "MCPLINK_LIST_TOOLS", "mcplink_param_flag": "MCPLINK_PARAM_REQUIRED", "mcplink_tool_hint": "MCPLINK_HINT_READ_ONLY", "mcplink_task_support": "MCPLINK_TASK_OPTIONAL",
}


def lengths(function):
    """Which parameter is the length of the text before it."""
    return {at for at, parameter in enumerate(function.parameters) if at and parameter.name == "len" and parameter.type == "size_t"}


def good(function, at):
    parameter = function.parameters[at]
    if at in lengths(function):
        return "32" if good(function, at - 1) == "secret" else "MCPLINK_NUL"
    known = GOOD.get(f"{function.name} {parameter.name}")
    if known:
        return known
    if parameter.object:
        return {"resource_server": "good_tokens", "oauth": "good_oauth", "oauth_client": "good_client"}.get(parameter.object.group(1), "NULL")
    if parameter.is_callback():
        return f"on_{parameter.type[len('mcplink_'):-len('_fn')]}"
    if parameter.type in ("const char *", "const void *"):
        return TEXTS.get(parameter.name, '"text"')
    if parameter.type in ENUMS:
        return ENUMS[parameter.type]
    if parameter.type in ("int32_t", "uint32_t", "size_t", "uint64_t", "int64_t", "uint16_t", "ptrdiff_t", "double"):
        return "1"
    if parameter.type == "bool":
        return "true"
    return "NULL"


def holes(function):
    """What a setter may not take: (what it is, the arguments, whether the setter itself has to see it)."""
    left_out = dict((word.split("=") + ["missing"])[:2] for word in RESTRICTS.get(function.name, "").split())
    plain = [good(function, at) for at in range(len(function.parameters))]
    found = []

    def hole(what, strict, **changed):
        arguments = list(plain)
        for at, value in changed.items():
            arguments[int(at[1:])] = value
        found.append((what, arguments, strict))

    for at, parameter in enumerate(function.parameters[1:], 1):
        if parameter.name in ("user", "err") or parameter.type == "mcplink_destroy_fn" or at in lengths(function):
            continue
        may = left_out.get(parameter.name)
        here, after = f"_{at}", f"_{at + 1}"
        if parameter.type in ("const char *", "const void *"):
            measured = at + 1 in lengths(function)
            if may is None or may == "empty":
                hole(f"{parameter.name} NULL", True, **{here: "NULL"}, **({after: "MCPLINK_NUL"} if measured else {}))
            if may is None:
                if measured:
                    hole(f"{parameter.name} NULL, 0", True, **{here: "NULL", after: "0"})
                    hole(f"{parameter.name} of length 0", True, **{here: '"x"', after: "0"})
                else:
                    hole(f"{parameter.name} empty", True, **{here: '""'})
                    hole(f"{parameter.name} blank", True, **{here: '" \\t"'})
            hole(f"{parameter.name} no text", not measured, **{here: '"\\xff\\xfe"'}, **({after: "2"} if measured else {}))
        elif parameter.object and parameter.type.startswith("const "):
            hole(f"{parameter.name} NULL", True, **{here: "NULL"})
            hole(f"{parameter.name} refused", True, **{here: f"bad_{parameter.object.group(1)}"})
        elif parameter.is_callback():
            hole(f"{parameter.name} NULL", True, **{here: "NULL"})
        elif parameter.type == "int32_t" or parameter.type in ENUMS:
            hole(f"{parameter.name} of another kind", True, **{here: "-1"})
            hole(f"{parameter.name} of another kind", True, **{here: "4711"})
        elif parameter.type == "int64_t":
            hole(f"{parameter.name} negative", True, **{here: "-1"})
        elif parameter.type == "const char *const *":
            hole(f"{parameter.name} NULL", True, **{here: "NULL"})
    return found


def call(function, first, arguments):
    return f"{function.name}({', '.join([first, *arguments[1:]])})"


def program():
    functions = calls.functions()
    check(functions)
    cases, table = [], {"http_request": [], "responder": []}
    count = 0
    for function in setters(functions):
        kind = kind_of(function)
        if function.name in OTHERS.split():
            continue
        restricts = function.name in RESTRICTS
        for what, arguments, strict in holes(function):
            said = f'"{function.name}: {what}"'
            must = int(restricts and strict)
            count += 1
            if kind in table:
                number = len(table[kind])
                cases.append(f"static mcplink_status_t {kind}_{number}(mcplink_{kind}_t *it) {{ return {call(function, 'it', arguments)}; }}")
                table[kind].append(f"{{ {said}, {kind}_{number}, {must} }}")
            else:
                cases.append(f"static mcplink_status_t set_{count}(void *it) {{ return {call(function, 'it', arguments)}; }}")
                plain = [good(function, at) for at in range(len(function.parameters))]
                cases.append(f"static mcplink_status_t heal_{count}(void *it) {{ return {call(function, 'it', plain)}; }}")
                table.setdefault("objects", []).append(f'{{ {said}, "{function.name}", KIND_{kind}, set_{count}, heal_{count}, {must} }}')
    text = [calls.HEAD.replace("calls.py", "restricts.py"), '#include "restricts.h"', "", *cases, ""]
    text += ["static const object_case_t objects[] = {", *[f"    {line}," for line in table["objects"]], "};", ""]
    text += ["static const request_case_t requests[] = {", *[f"    {line}," for line in table["http_request"]], "};", ""]
    text += ["static const responder_case_t responders[] = {", *[f"    {line}," for line in table["responder"]], "};", ""]
    text += ["int main(void)", "{", "    begin_all();"]
    for name, run in (("objects", "object"), ("requests", "request"), ("responders", "responder")):
        text.append(f"    for (size_t i = 0; i < sizeof {name} / sizeof *{name}; i++) run_{run}(&{name}[i]);")
    text += ["    end_all();", f'    puts("{count} cases");', "    return 0;", "}", ""]
    return "\n".join(text)


def methods():
    """The setters of mcplink.hpp that restrict: (class, method, C function, parameters)."""
    found, inside = [], None
    lines = HPP.read_text().splitlines()
    for at, line in enumerate(lines):
        begins = re.match(r"class (\w+) : public detail::described<\1>", line)
        if begins:
            inside = begins[1]
        elif line == "};":
            inside = None
        setter = inside and re.match(r"    (?:template <class F> )?%s &(\w+)\((.*?)\)" % inside, line)
        if not setter:
            continue
        body = line
        for following in lines[at + 1:]:
            if line.rstrip().endswith("}") or following.startswith("    /*") or re.match(r"    \w.*\) noexcept$", following):
                break
            body += following
            if following == "    }":
                break
        for name in RESTRICTS:
            if re.search(rf"\b{name}\b", body):
                found.append((inside, setter[1], name, [text.split("=")[0].strip() for text in setter[2].split(", ")]))
    return found


# What C++ programs set through the C functions so far.
# What the callables of the wrapper look like.
SIGNATURES = {"mcplink_authenticate_fn": "void(mcplink::http_request &)", "mcplink_login_fn": "void(mcplink::login &)", "mcplink_fetch_fn": "void(mcplink::fetch &)",
              "mcplink_guard_fn": "mcplink_decision(mcplink::guarded_request &)",
              "mcplink_schema_free_fn": "std::function<bool(std::string_view, mcplink::output &)>(std::string_view, mcplink::output &)",
              "mcplink_state_claim_fn": "bool(std::string_view, std::string_view, std::chrono::milliseconds)",
              "mcplink_statement_fn": "std::string(std::string_view)", "mcplink_sign_fn": "std::string(std::string_view)", "mcplink_bearer_fn": "std::string()"}
# How an object of the wrapper is made, and what takes it.
MADE = {
    "http_options": ("mcplink::http_options it;", "serves(it)"),
    "resource_server": ('mcplink::resource_server it("https://files.example/mcp", "https://login.example");', "checks(it)"),
    "client_options": ('mcplink::client_options it; it.url("https://127.0.0.1:1/mcp");', "opens(it)"),
    "oauth": ("mcplink::oauth it;", "logs_in(it)"),
    "oauth_client": ('mcplink::oauth_client it("https://login.example", "me");', "registers(it)"),
    "server_options": ('mcplink::server_options it("a", "1");', "makes(it)"),
    "exchange": ('mcplink::exchange it("POST", "/mcp", [](const mcplink::http_head &, std::int64_t) {}, [](std::string_view) {}, [](bool) {});', "asks(it)"),
}


def in_cpp():
    check(calls.functions())
    text = [calls.HEAD.replace("calls.py", "restricts.py"), '#include "restricts.hpp"', "", "int main()", "{", "    one_check_does_not_undo_another();"]
    found, count = methods(), 0
    callbacks = {function.name: parameter.type for function in calls.functions() for parameter in function.parameters if parameter.is_callback()}
    missing = {name for name in RESTRICTS if not re.search("http_request|responder|server_require", name)} - {name for _, _, name, _ in found}
    if missing:
        sys.exit(f"mcplink.hpp has no setter, or none is found, for {sorted(missing)}")
    for inside, method, name, parameters in found:
        may = dict((word.split("=") + ["missing"])[:2] for word in RESTRICTS[name].split())
        values = {}
        for at, parameter in enumerate(parameters):
            kind, called = parameter.rsplit(" ", 1)
            called = called.lstrip("&*")
            good_one, bad = '"text"', []
            if kind == "const char" or kind == "const char *":
                good_one = {"local": '"127.0.0.1:1"', "remote": '"127.0.0.1:2"'}.get(called, TEXTS.get(called, '"text"'))
                bad = ["none<const char *>()", '""', '" "']
                if called in ("remote", "key_id", "client_id") or may.get(called) == "missing":
                    bad = []
                elif may.get(called) == "empty":
                    bad = bad[:1]
            elif kind == "std::string_view":
                good_one, bad = "std::string_view(certificate)", ["std::string_view()", 'std::string_view("")', 'std::string_view("\\xff\\xfe")']
            elif kind == "F":
                good_one, bad = None, ["nullptr", f"std::function<{SIGNATURES[callbacks[name]]}>()"]
            elif kind in ENUMS:
                good_one, bad = ENUMS[kind], [f"static_cast<{kind}>(99)"]
            elif kind == "std::uint32_t":
                good_one, bad = "1", ["0"]
            elif kind.startswith("const mcplink::resource_server"):
                good_one, bad = None, ["bad_tokens()", "moved_tokens()"]
            elif kind.startswith("const oauth_client"):
                good_one, bad = "good_client()", ["bad_client()", "moved_client()"]
            elif kind.startswith("const mcplink::oauth"):
                good_one, bad = None, ["bad_oauth()", "moved_oauth()"]
            elif kind == "const void":
                good_one, bad = "certificate", ["nullptr"]
            elif kind == "std::size_t":
                good_one, bad = "32", []
            elif kind == "milliseconds":
                good_one, bad = "std::chrono::minutes(1)", []
            elif kind == "bool":
                good_one, bad = "true", []
            else:
                sys.exit(f"{inside}::{method}: what is a {kind}?")
            values[at] = (good_one, bad)
        for at, (_, bad) in values.items():
            for value in bad:
                arguments = [value if other == at else (one or "nullptr") for other, (one, _) in values.items()]
                made, taker = MADE[inside]
                count += 1
                text += ["    {", f'        begin("{inside}::{method}: {parameters[at]} {value.replace(chr(34), chr(39)).replace(chr(92), "/")}");',
                         f"        {made}", f"        it.{method}({', '.join(arguments)});", f"        CHECK(refused({taker}));", "    }"]
    text += [f'    std::puts("{count} cases");', "}", ""]
    return "\n".join(text)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["check"]:
            check(calls.functions())
        case ["c", file]:
            pathlib.Path(file).write_text(program())
        case ["cpp", file]:
            pathlib.Path(file).write_text(in_cpp())
        case _:
            sys.exit(__doc__)
