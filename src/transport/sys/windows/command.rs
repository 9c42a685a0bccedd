//! The program that a child runs, its arguments and its environment, in the form that the system
//! expects: one command line, and one block of variables.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::ffi::OsStrExt as _;

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_BAD_EXE_FORMAT, ERROR_ELEVATION_REQUIRED, ERROR_FILE_NOT_FOUND,
    ERROR_FILENAME_EXCED_RANGE,
};

use super::fd::Owned;
use super::read::ReadEnd;
use super::write::WriteEnd;
use crate::error::{Error, ErrorKind, Result};

/// Converts a string from C code to the encoding of the system. Returns `None` if the string is not
/// UTF-8.
#[cfg(feature = "cffi")]
pub(crate) fn text_from_c(bytes: &[u8]) -> Option<OsString> {
    std::str::from_utf8(bytes).ok().map(OsString::from)
}

/// The name of an environment variable. Names are compared without regard to case.
#[derive(Clone, Debug)]
pub(crate) struct VariableName {
    name: OsString,
    /// The name in upper case, by which names are compared and sorted.
    folded: Vec<u16>,
}

impl PartialEq for VariableName {
    fn eq(&self, other: &Self) -> bool {
        self.folded == other.folded
    }
}

impl Eq for VariableName {}

impl PartialOrd for VariableName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for VariableName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.folded.cmp(&other.folded)
    }
}

impl AsRef<OsStr> for VariableName {
    fn as_ref(&self) -> &OsStr {
        &self.name
    }
}

/// Returns the name of an environment variable in a form that can be compared.
pub(crate) fn variable_name(name: impl AsRef<OsStr>) -> VariableName {
    let name = name.as_ref().to_owned();
    let folded = name.encode_wide().map(upper).collect();
    VariableName { name, folded }
}

/// Returns the upper case of a UTF-16 unit. Returns the unit itself if its upper case is not a
/// single unit.
fn upper(unit: u16) -> u16 {
    let Some(letter) = char::from_u32(unit.into()) else {
        return unit;
    };
    let mut upper = letter.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) => u16::try_from(u32::from(one)).unwrap_or(unit),
        _ => unit,
    }
}

/// The names of the environment variables that a child inherits by default. Variables whose names
/// begin with `LC_` are inherited too. Without `SYSTEMROOT` many programs don't start.
const USUAL: [&str; 24] = [
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMMONPROGRAMFILES",
    "COMPUTERNAME",
    "COMSPEC",
    "HOME",
    "HOMEDRIVE",
    "HOMEPATH",
    "LANG",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Whether a child inherits a variable by default. A variable whose value begins with `()` is not
/// inherited. Such a value is a shell function, and a shell that the child runs would import the
/// function (Shellshock).
pub(crate) fn is_usual(name: &VariableName, value: &OsStr) -> bool {
    let folded = String::from_utf16_lossy(&name.folded);
    let is_usual = USUAL.contains(&&*folded) || folded.starts_with("LC_");
    is_usual && !value.as_encoded_bytes().starts_with(b"()")
}

/// Creates the streams to a child, which are always pipes. Returns the two ends that this process
/// uses, and the two ends that become the child's standard input and output.
pub(crate) fn streams(_pipes: bool) -> io::Result<((WriteEnd, ReadEnd), Owned, Owned)> {
    let (to_child, stdin) = WriteEnd::pipe()?;
    let (from_child, stdout) = ReadEnd::pipe()?;
    Ok(((to_child, from_child), stdin, stdout))
}

pub(super) fn refusal(program: &OsStr, error: io::Error) -> Error {
    let code = error.raw_os_error().map(|code| code as u32);
    let advice = match code {
        Some(ERROR_BAD_EXE_FORMAT) => ": it is no program for this system",
        Some(ERROR_FILE_NOT_FOUND) => ": check that the file exists",
        Some(ERROR_ACCESS_DENIED) => ": check that it is a file that you may run",
        Some(ERROR_ELEVATION_REQUIRED) => ": it has to be run as administrator",
        Some(ERROR_FILENAME_EXCED_RANGE) => ": its name and arguments are too long",
        _ => "",
    };
    let name = program.display();
    let doing = format!("can't start '{name}'{advice}");
    Error::io(doing, error).with_kind(ErrorKind::Spawn)
}

/// Returns a text in UTF-16 without a NUL at the end. Fails if the text has a NUL inside.
fn units(what: impl std::fmt::Display, text: &OsStr) -> Result<Vec<u16>> {
    let units: Vec<u16> = text.encode_wide().collect();
    if units.contains(&0) {
        let text =
            format!("{what} of the child has a NUL byte inside, which no process can be given");
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    Ok(units)
}

/// Returns a text in UTF-16 with a NUL at the end.
pub(super) fn terminated(what: impl std::fmt::Display, text: &OsStr) -> Result<Vec<u16>> {
    let mut units = units(what, text)?;
    units.push(0);
    Ok(units)
}

fn argument(index: usize, arg: &OsStr) -> Result<Vec<u16>> {
    units(format_args!("argument {}", index + 1), arg)
}

const QUOTE: u16 = b'"' as u16;
const BACKSLASH: u16 = b'\\' as u16;
const SPACE: u16 = b' ' as u16;

/// Returns the command line of a program. The words are quoted so that the C library of the program
/// splits the line into the same words.
pub(super) fn program_line(program: &OsStr, args: &[OsString]) -> Result<Vec<u16>> {
    let mut line = quoted_program(program)?;
    for (index, arg) in args.iter().enumerate() {
        let arg = argument(index, arg)?;
        line.push(SPACE);
        let separators = b" \t\n\x0b\"".map(u16::from);
        if !arg.is_empty() && !arg.iter().any(|unit| separators.contains(unit)) {
            line.extend(arg);
            continue;
        }
        line.push(QUOTE);
        let mut backslashes = 0;
        for unit in arg {
            if unit == QUOTE {
                // Before a quote, a backslash stands for itself only if it is doubled.
                line.extend(std::iter::repeat_n(BACKSLASH, backslashes + 1));
            }
            backslashes = if unit == BACKSLASH {
                backslashes + 1
            } else {
                0
            };
            line.push(unit);
        }
        line.extend(std::iter::repeat_n(BACKSLASH, backslashes));
        line.push(QUOTE);
    }
    line.push(0);
    Ok(line)
}

fn quoted_program(program: &OsStr) -> Result<Vec<u16>> {
    let name = units("program", program)?;
    if name.contains(&QUOTE) {
        let text = format!(
            "'{}' has a quote inside: no file has such a name",
            program.display()
        );
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    Ok([&[QUOTE][..], &name, &[QUOTE]].concat())
}

/// Returns the command line that makes `cmd.exe` run a batch file.
///
/// `cmd.exe` expands variables in quoted words too, and has no escape for a line break. So each
/// percent sign is followed by `%cd:~,%`, which expands to nothing. An argument with a line break
/// is refused.
pub(super) fn batch_line(script: &OsStr, args: &[OsString]) -> Result<Vec<u16>> {
    // Command extensions are on. Delayed expansion and AutoRun commands are off.
    let mut line: Vec<u16> = "cmd.exe /d /e:ON /v:OFF /c \"".encode_utf16().collect();
    let name = quoted_program(script)?;
    if name.contains(&(b'%'.into())) {
        let text = format!(
            "can't start '{}': a batch file whose path has a percent sign can't be named to cmd.exe",
            script.display()
        );
        return Err(Error::new(ErrorKind::Spawn, text));
    }
    line.extend(name);
    for (index, arg) in args.iter().enumerate() {
        let units = argument(index, arg)?;
        if units
            .iter()
            .any(|unit| [b'\r', b'\n'].map(u16::from).contains(unit))
        {
            let text = format!(
                "argument {} has a line break, which no batch file ('{}') can be given",
                index + 1,
                script.display()
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        line.push(SPACE);
        batch_argument(&mut line, &units);
    }
    line.extend([QUOTE, 0]);
    Ok(line)
}

fn batch_argument(line: &mut Vec<u16>, arg: &[u16]) {
    let is_plain = |unit: &u16| {
        u8::try_from(*unit)
            .is_ok_and(|byte| byte.is_ascii_alphanumeric() || b"#$*+-./:?@\\_".contains(&byte))
    };
    let is_plain = !arg.is_empty() && arg.iter().all(is_plain) && arg.last() != Some(&BACKSLASH);
    if is_plain {
        return line.extend(arg);
    }
    line.push(QUOTE);
    let mut backslashes = 0;
    for &unit in arg {
        if unit == QUOTE {
            // The quote is doubled: `cmd.exe` and the program both read two quotes as one.
            line.extend(std::iter::repeat_n(BACKSLASH, backslashes));
            line.push(QUOTE);
        }
        if unit == u16::from(b'%') {
            line.extend("%%cd:~,".encode_utf16());
        }
        backslashes = if unit == BACKSLASH {
            backslashes + 1
        } else {
            0
        };
        line.push(unit);
    }
    line.extend(std::iter::repeat_n(BACKSLASH, backslashes));
    line.push(QUOTE);
}

/// Returns the block of environment variables, which has to be sorted by name.
pub(super) fn environment_block(env: &[(VariableName, OsString)]) -> Result<Vec<u16>> {
    let mut sorted: Vec<_> = env.iter().collect();
    sorted.sort_by(|one, other| one.0.cmp(&other.0));
    let mut block = Vec::new();
    for (name, value) in sorted {
        let shown = name.name.display();
        // A name may begin with `=`: the system stores the current directory of each drive under
        // such a name.
        if name.folded.is_empty() || name.folded[1..].contains(&(b'='.into())) {
            let text = format!("'{shown}' is no name for an environment variable");
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let what = format!("environment variable '{shown}'");
        block.extend(units(&what, &name.name)?);
        block.push(b'='.into());
        block.extend(terminated(&what, value)?);
    }
    if block.is_empty() {
        block.push(0);
    }
    block.push(0);
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: Result<Vec<u16>>) -> String {
        let line = line.expect("it can be quoted");
        let text = String::from_utf16(&line).expect("it is text");
        text.strip_suffix('\0').expect("NUL ends it").to_owned()
    }

    #[test]
    fn words_are_quoted_as_a_program_splits_them() {
        for (arg, quoted) in [
            ("plain", "plain"),
            ("", r#""""#),
            ("two words", r#""two words""#),
            (r"C:\a\", r"C:\a\"),
            (r"C:\a b\", r#""C:\a b\\""#),
            (r#"say "hi""#, r#""say \"hi\"""#),
            (r#"\""#, r#""\\\"""#),
            ("100%", "100%"),
        ] {
            let line = text(program_line("p.exe".as_ref(), &[arg.into()]));
            assert_eq!(line, format!(r#""p.exe" {quoted}"#));
        }
        for program in ["p\".exe", "p\0"] {
            let error = program_line(program.as_ref(), &[]).expect_err("no file has it");
            assert_eq!(error.kind(), ErrorKind::Invalid);
        }
        let error = program_line("p".as_ref(), &["a\0".into()]).expect_err("NUL");
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }

    #[test]
    fn a_batch_file_gets_its_arguments_or_is_refused() {
        for (arg, quoted) in [
            ("-y", "-y"),
            ("@scope/name", "@scope/name"),
            ("", r#""""#),
            ("a&calc", r#""a&calc""#),
            (r#"a"&calc"#, r#""a""&calc""#),
            (r#"\" x"#, r#""\\"" x""#),
            (r"C:\a\", r#""C:\a\\""#),
            ("%PATH%", r#""%%cd:~,%PATH%%cd:~,%""#),
            ("a^b", r#""a^b""#),
        ] {
            let line = text(batch_line(r"C:\n\npx.cmd".as_ref(), &[arg.into()]));
            let before = r#"cmd.exe /d /e:ON /v:OFF /c ""C:\n\npx.cmd" "#;
            assert_eq!(line, format!(r#"{before}{quoted}""#));
        }
        for arg in ["a\nb", "a\rb", "a\0b"] {
            let line = batch_line("x.bat".as_ref(), &[arg.into()]);
            assert_eq!(line.expect_err("no escape").kind(), ErrorKind::Invalid);
        }
        let line = batch_line(r"C:\%TEMP%\x.cmd".as_ref(), &[]);
        assert_eq!(line.expect_err("no escape").kind(), ErrorKind::Spawn);
    }

    #[test]
    fn the_environment_is_sorted_without_regard_to_case() {
        let pair = |name: &str, value: &str| (variable_name(name), OsString::from(value));
        let env = [
            pair("b", "2"),
            pair("Path", "x"),
            pair("A", "1"),
            pair("=C:", "d"),
        ];
        let block = text(environment_block(&env));
        assert_eq!(block, "=C:=d\0A=1\0b=2\0Path=x\0");
        assert_eq!(environment_block(&[]).expect("none"), [0, 0]);
        for (name, value) in [("", "x"), ("a=b", "x"), ("a\0", "x"), ("a", "\0")] {
            let error = environment_block(&[pair(name, value)]).expect_err("it is refused");
            assert_eq!(error.kind(), ErrorKind::Invalid);
        }
        assert_eq!(variable_name("Pätħ"), variable_name("PÄTĦ"));
        assert!(is_usual(&variable_name("Path"), "C:".as_ref()));
        assert!(!is_usual(&variable_name("GITHUB_TOKEN"), "x".as_ref()));
        assert!(!is_usual(&variable_name("LC_ALL"), "() { :; }".as_ref()));
    }
}
