//! The action `install`: writes a server into the configuration file of a host, or removes it.

mod edit;

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use self::edit::Edit;
use mcplink::transport::local;

use crate::args::{Host, InstallRequest, Options, Place, program_and_instance};
use crate::configs;
use crate::failure::Failure;
use crate::print::{self, note};
use crate::reach;

/// Writes the entry, or removes it.
pub(crate) fn run(request: &InstallRequest, options: &Options) -> Result<(), Failure> {
    let place = &options.place;
    let path = path_of(request, place)?;
    // The name that the user gave counts, not that of the file that a link leads to.
    let section = section_of(request.host, &path);
    // A link stays a link: the file that it leads to is changed.
    let path = match fs::canonicalize(&path) {
        Ok(path) => path,
        Err(_) if path.is_symlink() => {
            let text = format!("{}: the link leads to no file", path.display());
            return Err(Failure::usage(text));
        }
        Err(_) => path,
    };
    let shown = path.display();
    let before = match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Failure::usage(format!("{shown}: {error}"))),
    };
    let text = before.as_deref().unwrap_or_default();
    let wrong = |error: String| Failure::usage(format!("{shown}: {error}"));
    let edit = Edit::read(text, section).map_err(wrong)?;
    let program = request.attach.as_deref();
    let program = program.map(|program| program_and_instance(program).0);
    let name = request.name.as_deref().or(program);
    let name =
        name.ok_or_else(|| Failure::usage("the name of the server is missing".to_owned()))?;
    let after = if request.remove {
        if has_server(place) {
            let text = "--remove takes the name only, without a server".to_owned();
            return Err(Failure::usage(text));
        }
        edit.remove(name).map_err(wrong)?
    } else {
        let entry = match &request.attach {
            Some(program) => attach_entry(request, program, options)?,
            None => entry(request.host, place)?,
        };
        if edit.has(name) && !request.replace {
            let text = format!("{shown} has a server '{name}': --replace replaces it");
            return Err(Failure::usage(text));
        }
        edit.set(name, &entry).map_err(wrong)?
    };
    if request.dry_run {
        print::line(&format!("{shown}:"))?;
        return Ok(print::text(&difference(text, &after))?);
    }
    if before.as_deref() == Some(&*after) {
        note(&format!("mcplink: {shown} has this server already"));
        return Ok(());
    }
    write(&path, before.as_deref(), &after)
        .map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    let done = match request.remove {
        true => "removed from",
        false => "written to",
    };
    note(&format!("mcplink: '{name}' is {done} {shown}"));
    Ok(())
}

fn has_server(place: &Place) -> bool {
    place.url.is_some() || place.server.is_some() || !place.command.is_empty()
}

fn path_of(request: &InstallRequest, place: &Place) -> Result<PathBuf, Failure> {
    if let Some(path) = &place.config {
        return Ok(path.clone());
    }
    let host = match (request.host, request.project) {
        (Host::ClaudeCode, false) => "Claude Code",
        (Host::ClaudeCode, true) => "project",
        (Host::ClaudeDesktop, false) => "Claude Desktop",
        (Host::ClaudeDesktop, true) => {
            let text = "Claude Desktop has no configuration of projects".to_owned();
            return Err(Failure::usage(text));
        }
        (Host::Cursor, false) => "Cursor",
        (Host::Cursor, true) => "Cursor, project",
        (Host::Vscode, false) => "VS Code",
        (Host::Vscode, true) => "VS Code, project",
    };
    configs::place_of(host).ok_or_else(|| {
        Failure::usage("there is no home directory: name the file with --config".to_owned())
    })
}

/// Returns the member of the file that has the servers.
fn section_of(host: Host, path: &Path) -> &'static str {
    let is_named = path.file_name().is_some_and(|name| name == ".mcp.json");
    match host {
        Host::Vscode if !is_named => "servers",
        _ => "mcpServers",
    }
}

/// Returns the entry of the server, as the host reads it.
fn entry(host: Host, place: &Place) -> Result<Value, Failure> {
    if place.server.is_some() {
        let text = "install takes a command behind --, or --url".to_owned();
        return Err(Failure::usage(text));
    }
    for (option, is_given) in [
        ("--inherit-env", place.inherits_env),
        ("--cwd", place.cwd.is_some()),
        ("--cacert", place.authorities.is_some()),
        ("--login", place.login),
    ] {
        if is_given {
            let text = format!("{option} can't be written into the file of a host");
            return Err(Failure::usage(text));
        }
    }
    let mut entry = Map::new();
    if let Some(url) = &place.url {
        if host == Host::ClaudeDesktop {
            let text = "Claude Desktop starts servers only: install 'mcplink proxy --url' there";
            return Err(Failure::usage(text.to_owned()));
        }
        if host != Host::Cursor {
            entry.insert("type".to_owned(), json!("http"));
        }
        entry.insert("url".to_owned(), json!(url));
        let headers = reach::headers(&place.headers)?.into_iter();
        let headers: Map<_, _> = headers.map(|(name, value)| (name, value.into())).collect();
        if !headers.is_empty() {
            entry.insert("headers".to_owned(), headers.into());
        }
        return Ok(entry.into());
    }
    let texts: Option<Vec<&str>> = place.command.iter().map(|word| word.to_str()).collect();
    let not_text = || Failure::usage("the command is no UTF-8".to_owned());
    let texts = texts.ok_or_else(not_text)?;
    let Some((program, arguments)) = texts.split_first() else {
        let text = "the server is missing: its command stands behind --, its address behind --url";
        return Err(Failure::usage(text.to_owned()));
    };
    if host == Host::Vscode {
        entry.insert("type".to_owned(), json!("stdio"));
    }
    entry.insert("command".to_owned(), json!(findable(program)?));
    for argument in arguments {
        if Path::new(argument).is_relative() && Path::new(argument).exists() {
            note(&format!(
                "mcplink: '{argument}' is a relative path: hosts start servers in other directories"
            ));
        }
    }
    entry.insert("args".to_owned(), json!(arguments));
    let mut variables = Map::new();
    for (name, value) in &place.env {
        let value = match value {
            Some(value) => value.clone(),
            None => reference(host, name)?,
        };
        variables.insert(name.clone(), value.into());
    }
    if !variables.is_empty() {
        entry.insert("env".to_owned(), variables.into());
    }
    Ok(entry.into())
}

/// Returns the entry that starts `mcplink attach`.
fn attach_entry(
    request: &InstallRequest,
    program: &str,
    options: &Options,
) -> Result<Value, Failure> {
    let place = &options.place;
    if place.url.is_some() || !request.launch && !place.command.is_empty() {
        let text = "--attach takes the name of a published program, and no server".to_owned();
        return Err(Failure::usage(text));
    }
    if request.launch && place.command.is_empty() {
        let text = "--launch takes the command that starts the program".to_owned();
        return Err(Failure::usage(text));
    }
    // A name that no program can have is refused now, not when the host starts the server.
    local::instances(program_and_instance(program).0)?;
    let own = env::current_exe().map_err(|error| Failure::usage(error.to_string()))?;
    let mut command = vec![own.into_os_string(), "attach".into(), program.into()];
    if let Some(timeout) = options.timeout {
        command.extend(["--timeout".into(), timeout.as_secs_f64().to_string().into()]);
    }
    if let Some((start, arguments)) = place.command.split_first() {
        let start = start
            .to_str()
            .map_or(Ok(None), |text| findable(text).map(Some))?;
        command.push("--launch".into());
        command.extend(start.map(OsString::from));
        command.extend(arguments.iter().cloned());
    }
    let mut env = place.env.clone();
    env.extend(runtime_folder().map(|folder| (RUNTIME.to_owned(), Some(folder))));
    let place = Place {
        command,
        env,
        ..place.clone()
    };
    entry(request.host, &place)
}

/// The variable with the folder in which programs publish their servers.
const RUNTIME: &str = "XDG_RUNTIME_DIR";

/// Returns the value of that variable, unless it is the usual one. A host that starts servers with
/// few variables would otherwise look for the program in the usual folder.
fn runtime_folder() -> Option<String> {
    let folder = env::var(RUNTIME).ok().filter(|value| !value.is_empty())?;
    (!is_usual(Path::new(&folder))).then_some(folder)
}

/// Whether a folder is `/run/user/UID` of this user.
fn is_usual(folder: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(owner) = fs::metadata(folder).map(|data| data.uid()) else {
            return false;
        };
        folder == Path::new("/run/user").join(owner.to_string())
    }
    #[cfg(not(unix))]
    {
        _ = folder;
        true
    }
}

/// Returns a program as a host in another working directory finds it: a path becomes absolute.
fn findable(program: &str) -> Result<String, Failure> {
    if !program.contains(std::path::MAIN_SEPARATOR) {
        return Ok(program.to_owned());
    }
    let path = std::path::absolute(program)
        .map_err(|error| Failure::usage(format!("{program}: {error}")))?;
    if !path.exists() {
        note(&format!("mcplink: {} does not exist", path.display()));
    }
    Ok(path.to_string_lossy().into_owned())
}

/// Returns the text that stands for an environment variable of the host.
fn reference(host: Host, name: &str) -> Result<String, Failure> {
    match host {
        Host::ClaudeCode => Ok(format!("${{{name}}}")),
        Host::Cursor | Host::Vscode => Ok(format!("${{env:{name}}}")),
        Host::ClaudeDesktop => match env::var(name) {
            Ok(value) => Ok(value),
            Err(error) => Err(Failure::usage(format!("--env {name}: {error}"))),
        },
    }
}

/// Replaces the file, and keeps a copy of the old one beside it. `before` is the text that the
/// file had when it was read.
fn write(path: &Path, before: Option<&str>, text: &str) -> io::Result<()> {
    let exists = before.is_some();
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder)?;
    }
    let beside = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    if exists {
        fs::copy(path, beside(".bak"))?;
    }
    // The new file takes the place of the old one in one step, so no reader sees half of it.
    let fresh = beside(&format!(".{}.new", std::process::id()));
    let written = (|| {
        let mut file = create(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        if exists {
            fs::set_permissions(&fresh, fs::metadata(path)?.permissions())?;
        }
        let now = fs::read_to_string(path).ok();
        if now.as_deref() != before {
            return Err(io::Error::other("another program has changed the file"));
        }
        fs::rename(&fresh, path)
    })();
    if written.is_err() {
        // The error of the writing is reported, not that of the cleaning up.
        _ = fs::remove_file(&fresh);
    }
    written
}

/// Creates a file for the user only, since the environment of a server may have secrets.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

/// Returns the lines that differ: `-` before old ones, `+` before new ones.
fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(one, other)| one == other).count()
    };
    let head = same(&mut old.iter().zip(&new));
    let (old, new) = (&old[head..], &new[head..]);
    let tail = same(&mut old.iter().rev().zip(new.iter().rev()));
    let removed = old[..old.len() - tail]
        .iter()
        .map(|line| format!("- {line}\n"));
    let added = new[..new.len() - tail]
        .iter()
        .map(|line| format!("+ {line}\n"));
    removed.chain(added).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_only_the_lines_that_differ() {
        assert_eq!(difference("a\nb\nc\n", "a\nx\ny\nc\n"), "- b\n+ x\n+ y\n");
        assert_eq!(difference("", "a\n"), "+ a\n");
        assert_eq!(difference("a\n", "a\n"), "");
        assert_eq!(difference("a\na\n", "a\n"), "- a\n");
    }
}
