//! Build script: writes the C header when the feature `cffi` is on.
//!
//! The header is written to `OUT_DIR`. `include/mcplink.h` is the committed copy; a test compares
//! the two. If the environment variable `MCPLINK_WRITE_HEADER` is set, the committed copy is
//! overwritten.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=header");
    #[cfg(feature = "cffi")]
    {
        header::write();
        shared_library();
    }
}

/// Sets the linker options of the shared library on ELF systems. Before 1.0 each minor version has
/// its own soname, because it may break the ABI.
#[cfg(feature = "cffi")]
fn shared_library() {
    let part = |name: &str| std::env::var(name).expect("cargo sets it");
    let is_unix = std::env::var_os("CARGO_CFG_UNIX").is_some();
    if !is_unix || part("CARGO_CFG_TARGET_VENDOR") == "apple" {
        return;
    }
    let (major, minor) = (
        part("CARGO_PKG_VERSION_MAJOR"),
        part("CARGO_PKG_VERSION_MINOR"),
    );
    let version = if major == "0" {
        format!("0.{minor}")
    } else {
        major
    };
    println!("cargo::rustc-link-arg=-Wl,-soname,libmcplink.so.{version}");
    // A thread of the library may still be exiting when a host unloads its plug-in: with `nodelete`
    // its code stays mapped.
    println!("cargo::rustc-link-arg=-Wl,-z,nodelete");
}

#[cfg(feature = "cffi")]
#[path = "header/layout.rs"]
mod layout;

#[cfg(feature = "cffi")]
#[path = "header/tables.rs"]
mod tables;

#[cfg(feature = "cffi")]
mod header {
    use crate::{layout, tables};
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    /// The sections of the header, in order, and the source files of their functions.
    const SECTIONS: &[(&str, &[&str])] = &[
        (
            "Version",
            &["version.rs", "text.rs", "user.rs", "threads.rs"],
        ),
        (
            "Errors and log",
            &[
                "status.rs",
                "failure.rs",
                "error.rs",
                "log.rs",
                "set_log.rs",
                "dump.rs",
            ],
        ),
        ("JSON", &["json.rs", "writer.rs"]),
        (
            "Client: options",
            &[
                "client/options.rs",
                "client/limits.rs",
                "limit.rs",
                "client/endpoint_options.rs",
                "client/memory.rs",
                "client/config.rs",
                "client/instances.rs",
                "client/endpoint.rs",
                "output.rs",
                "auth/bearer.rs",
                "validator.rs",
            ],
        ),
        (
            "Client: open, close, events",
            &[
                "client/shared.rs",
                "client/opening.rs",
                "event.rs",
                "client/events.rs",
                "client/info.rs",
            ],
        ),
        (
            "Calls and results",
            &[
                "client/calls.rs",
                "client/tasks.rs",
                "client/lists.rs",
                "client/notifications.rs",
                "client/call_options.rs",
                "cancel.rs",
                "client/call.rs",
                "result.rs",
                "client/group.rs",
            ],
        ),
        ("Requests from servers", &["client/questions.rs"]),
        (
            "Server",
            &[
                "server/server_handle.rs",
                "server/registry.rs",
                "server/notices.rs",
                "server/session.rs",
                "server/publication.rs",
                "server/activity.rs",
            ],
        ),
        (
            "Server: options",
            &[
                "server/options.rs",
                "server/settings.rs",
                "server/limits.rs",
                "server/state_store.rs",
                "server/event_bus.rs",
                "server/record_store.rs",
                "server/guard.rs",
                "server/events.rs",
            ],
        ),
        (
            "Tools",
            &["server/definition.rs", "server/tool.rs", "server/params.rs"],
        ),
        (
            "Resources",
            &[
                "server/resource.rs",
                "server/template.rs",
                "server/folder.rs",
                "server/skills.rs",
            ],
        ),
        ("Prompts", &["server/prompt.rs"]),
        (
            "Handlers: read a request, answer it",
            &[
                "reader.rs",
                "request.rs",
                "responder.rs",
                "answer.rs",
                "content.rs",
                "server/form.rs",
                "task_helpers.rs",
                "extensions.rs",
            ],
        ),
        (
            "HTTP servers",
            &[
                "server/http/listener.rs",
                "server/http/options.rs",
                "server/http/event_store.rs",
                "server/http/token.rs",
                "server/http/resource_server.rs",
                "server/http/request.rs",
                "server/http/head.rs",
                "server/http/channel.rs",
                "server/http/exchange.rs",
                "server/http/mount.rs",
            ],
        ),
        (
            "Logins and tokens of clients",
            &[
                "auth/oauth.rs",
                "auth/settings.rs",
                "auth/grant_type.rs",
                "auth/registered.rs",
                "auth/signer.rs",
                "auth/token_store.rs",
                "auth/login.rs",
            ],
        ),
        ("HTTP clients of the host", &["fetch.rs"]),
        ("Event loops: the pump", &["pump.rs"]),
        ("Transports of the host", &["transport.rs", "tap.rs"]),
    ];

    /// C macros that depend on the compiler.
    const MACROS: &str = r#"/* Before each function: define it when the library is a DLL. */
#ifndef MCPLINK_API
#  if defined(_WIN32) && defined(MCPLINK_SHARED)
#    define MCPLINK_API __declspec(dllimport) extern
#  else
#    define MCPLINK_API extern
#  endif
#endif

/* The result is not to be dropped: see "Warnings". */
#if defined(MCPLINK_NO_NODISCARD)
#  define MCPLINK_NODISCARD
#elif (defined(__cplusplus) && __cplusplus >= 201703L) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#  define MCPLINK_NODISCARD [[nodiscard]]
#elif defined(__GNUC__) || defined(__clang__)
#  define MCPLINK_NODISCARD __attribute__((warn_unused_result))
#elif defined(_MSC_VER)
#  define MCPLINK_NODISCARD _Check_return_
#else
#  define MCPLINK_NODISCARD
#endif

#if defined(__GNUC__) || defined(__clang__)
#  define MCPLINK_DEPRECATED(text) __attribute__((deprecated(text)))
#elif defined(_MSC_VER)
#  define MCPLINK_DEPRECATED(text) __declspec(deprecated(text))
#else
#  define MCPLINK_DEPRECATED(text)
#endif

/* As the length of text: measure it, it ends in NUL. */
#define MCPLINK_NUL SIZE_MAX

/* As a time in milliseconds: no end. */
#define MCPLINK_FOREVER UINT32_MAX"#;

    pub(crate) fn write() {
        println!("cargo::rerun-if-changed=src/cffi");
        println!("cargo::rerun-if-changed=cbindgen.toml");
        println!("cargo::rerun-if-env-changed=MCPLINK_WRITE_HEADER");
        let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
        let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml"))
            .expect("cbindgen.toml can be read");
        config.after_includes = Some(version_macros());
        let folder = root.join("src/cffi");
        check_sections(&folder);
        let bindings = (SECTIONS.iter())
            .flat_map(|(_, parts)| *parts)
            .fold(cbindgen::Builder::new(), |builder, part| {
                builder.with_src(readable(&folder, part, &out))
            });
        let bindings = bindings.with_config(config).generate();
        let bindings = bindings.expect("the C interface can be written as a header");
        let mut header = Vec::new();
        bindings.write(&mut header);
        let header = finished(&String::from_utf8(header).expect("the header is text"));
        let sections = SECTIONS.iter().map(|(title, parts)| layout::Section {
            title,
            source: (parts.iter()).map(|part| expanded(&folder, part)).collect(),
        });
        let header = layout::arranged(&header, &sections.collect::<Vec<_>>());
        let file = |folder: &Path| fs::write(folder.join("mcplink.h"), &header);
        file(&out).expect("the build's own folder can be written to");
        if env::var_os("MCPLINK_WRITE_HEADER").is_some() {
            file(&root.join("include")).expect("the header can be written");
        }
    }

    /// Fails if a file with exported functions is in no section: the header would lack them.
    fn check_sections(root: &Path) {
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("the source can be read") {
                let path = entry.expect("the source can be read").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let source = fs::read_to_string(&path).expect("the source can be read");
                let exports = source.lines().any(|line| {
                    let tables = ["actions! {", "getters! {", "fallible! {", "calls! {"];
                    tables.contains(&line) || line.starts_with("#[unsafe(no_mangle)]")
                });
                let mut listed = SECTIONS.iter().flat_map(|(_, parts)| *parts);
                let is_listed = listed.any(|part| root.join(part) == path);
                assert!(
                    is_listed || !exports,
                    "{} is not in SECTIONS",
                    path.display()
                );
            }
        }
    }

    /// Changes what cbindgen can't be configured to write. `[[nodiscard]]` must be the first word of
    /// a declaration. An enumeration gets a tag, so that `enum mcplink_era` is a type in C too.
    fn finished(header: &str) -> String {
        let header = header
            .replace(
                "MCPLINK_API\nMCPLINK_NODISCARD\n",
                "MCPLINK_NODISCARD MCPLINK_API\n",
            )
            .replace(
                "MCPLINK_API MCPLINK_NODISCARD ",
                "MCPLINK_NODISCARD MCPLINK_API ",
            );
        let mut lines: Vec<String> = header.lines().map(str::to_owned).collect();
        let mut begin = None;
        for at in 0..lines.len() {
            if lines[at] == "typedef enum {" {
                begin = Some(at);
            } else if let Some(name) = lines[at]
                .strip_prefix("} ")
                .and_then(|it| it.strip_suffix(';'))
                && let Some(begin) = begin.take()
            {
                lines[begin] = format!("typedef enum {name} {{");
            }
        }
        lines.join("\n") + "\n"
    }

    /// Writes a copy of a source file to `OUT_DIR` that cbindgen can read, and returns its path. In
    /// the copy, tables are functions. Beside a `mod.rs`, cbindgen would follow its `mod`
    /// lines, and then the files in `SECTIONS` would be in the header twice.
    fn readable(root: &Path, part: &str, out: &Path) -> PathBuf {
        let copy = out.join(part.replace('/', "-"));
        fs::write(&copy, expanded(root, part)).expect("the build's own folder can be written to");
        copy
    }

    /// Reads a source file, and writes the functions of its tables.
    fn expanded(root: &Path, part: &str) -> String {
        let source = fs::read_to_string(root.join(part)).expect("the source can be read");
        tables::expanded(&source)
    }

    fn version_macros() -> String {
        let part = |name: &str| -> u32 {
            let text = env::var(format!("CARGO_PKG_VERSION_{name}")).expect("cargo sets it");
            text.parse().expect("versions have numbers")
        };
        let (major, minor, patch) = (part("MAJOR"), part("MINOR"), part("PATCH"));
        let number = major << 24 | minor << 16 | patch << 8;
        format!(
            "\n#define MCPLINK_VERSION_MAJOR {major}\n#define MCPLINK_VERSION_MINOR {minor}\n\
             #define MCPLINK_VERSION_PATCH {patch}\n\
             /* major << 24 | minor << 16 | patch << 8 */\n#define MCPLINK_VERSION_NUMBER 0x{number:08x}u\n\n{MACROS}"
        )
    }
}
