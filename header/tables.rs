//! The tables of the source, as cbindgen reads them: functions of `src/cffi/actions.rs`,
//! `src/cffi/fallible.rs`, `src/cffi/getters.rs` and `src/cffi/client/call_table.rs`, and the
//! enumerations of `src/cffi/arg.rs`.

/// The macros that make functions of a table.
const TABLES: [&str; 4] = ["actions! {", "fallible! {", "getters! {", "calls! {"];
/// Returns a source file in which each table is written as functions without bodies. A file without
/// tables is unchanged.
pub(crate) fn expanded(source: &str) -> String {
    let mut text = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if TABLES.contains(&line) {
            let table: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
            functions(line, &table, &mut text);
        } else if line == "enumeration! {" {
            for line in lines.by_ref().take_while(|line| *line != "}") {
                text.push_str(line.strip_prefix("    ").unwrap_or(line));
                text.push('\n');
            }
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// The parameters and the result of the functions of an entry.
#[derive(Default)]
struct Signature {
    /// The name and the type of the object, which is the first parameter.
    object: (String, String),
    arguments: String,
    result: String,
}

/// Writes the functions of a table. `macro_line` is the line with the name of the macro.
fn functions(macro_line: &str, table: &[&str], text: &mut String) {
    let mut lines = table
        .iter()
        .map(|line| line.strip_prefix("    ").unwrap_or(line));
    let mut comment = Vec::new();
    let mut signature = Signature::default();
    while let Some(line) = lines.next() {
        if line.starts_with("///") || line.starts_with("#[") {
            comment.push(line);
        } else if let Some(name) = line.strip_prefix("start ") {
            let name = name.trim_end_matches(';');
            signature.write_start(name, std::mem::take(&mut comment), text);
        } else if let Some(head) = line.strip_suffix(';') {
            signature.object = object_of(macro_line, head);
        } else if let Some(begin) = line.strip_prefix("fn ") {
            let mut whole = begin.to_owned();
            while !whole.contains(" {") {
                let more = lines.next().expect("a function has a body").trim();
                whole.push_str(more);
                whole.push(' ');
            }
            let (whole, body) = whole.split_once(" {").expect("it was found");
            let (name, rest) = whole.split_once('(').expect("it has parameters");
            let (arguments, result) = rest.split_once(')').expect("its parameters end");
            signature.arguments = arguments.trim().trim_end_matches(',').to_owned();
            if let Some(arguments) = signature.arguments.strip_suffix("; user") {
                signature.arguments = [arguments, USER].join(", ");
            }
            signature.result = result.trim_start_matches(" -> ").to_owned();
            let comment = std::mem::take(&mut comment);
            match macro_line.split('!').next() {
                Some("calls") => signature.write_blocking(name, comment, text),
                Some("fallible") => signature.write_fallible(name, comment, text),
                _ => signature.write(name, comment, text),
            }
            // A body on the same line ends there.
            if !body.ends_with('}') {
                lines.find(|line| *line == "}").expect("a function ends");
            }
        }
    }
}

impl Signature {
    /// Writes a setter or a getter.
    fn write(&self, name: &str, comment: Vec<&str>, text: &mut String) {
        let result = match &*self.result {
            "" => "mcplink_status_t",
            result => result,
        };
        function(
            name,
            &comment.join("\n"),
            &[&self.object(), &self.arguments],
            result,
            text,
        );
    }

    /// Writes a function that returns the reason of a failure.
    fn write_fallible(&self, name: &str, comment: Vec<&str>, text: &mut String) {
        let comment = format!("{}\n#[must_use]", comment.join("\n"));
        let out = self.result.replace(": ", ": *mut *mut ");
        let parameters = [&self.object(), &self.arguments, &*out, ERR];
        function(name, &comment, &parameters, "mcplink_status_t", text);
    }

    /// Writes the blocking form of a call.
    fn write_blocking(&self, name: &str, comment: Vec<&str>, text: &mut String) {
        let comment = format!("{}\n#[must_use]", comment.join("\n"));
        let out = match &*self.result {
            "" => "",
            _ => "out: *mut *mut mcplink_result_t",
        };
        let options = "options: *const mcplink_call_options_t";
        let parameters = [&self.object(), &self.arguments, options, out, ERR];
        function(name, &comment, &parameters, "mcplink_status_t", text);
    }

    /// Writes the non-blocking form of a call.
    fn write_start(&self, name: &str, comment: Vec<&str>, text: &mut String) {
        let comment = format!("{}\n#[must_use]", comment.join("\n"));
        let done = "options: *const mcplink_call_options_t, callback: mcplink_done_fn, \
                    user: *mut c_void, destroy: mcplink_destroy_fn, out: *mut *mut mcplink_call_t";
        let parameters = [&self.object(), &self.arguments, done, ERR];
        function(name, &comment, &parameters, "mcplink_status_t", text);
    }

    fn object(&self) -> String {
        let (name, of) = &self.object;
        format!("{name}: {of}")
    }
}

/// The parameters that `; user` stands for.
const USER: &str = "user: *mut c_void, destroy: mcplink_destroy_fn";
const ERR: &str = "err: *mut *mut mcplink_error_t";

/// Writes a function without a body.
fn function(name: &str, comment: &str, parameters: &[&str], result: &str, text: &mut String) {
    let parameters: Vec<&str> = parameters
        .iter()
        .copied()
        .filter(|each| !each.is_empty())
        .collect();
    text.push_str(&format!(
        "{comment}\n#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {name}({}) -> {result} {{}}\n\n",
        parameters.join(", ")
    ));
}

/// Reads the line of a table that names its object. Returns the name of the parameter and its type.
fn object_of(table: &str, head: &str) -> (String, String) {
    let parameter = head.split_once('(').map_or(head, |(_, rest)| rest);
    let (this, object) = parameter
        .trim_end_matches(')')
        .split_once(": ")
        .expect("a table begins with its object");
    let object = match table.split('!').next() {
        Some("fallible") => object.to_owned(),
        Some("getters") => format!("*const {object}"),
        _ => format!("*mut {object}"),
    };
    (this.to_owned(), object)
}
