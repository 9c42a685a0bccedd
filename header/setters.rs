//! The tables of setters in the source, as functions that cbindgen reads: `src/cffi/setters.rs`.

/// Returns a source file in which each table is written as functions without bodies. A file without
/// tables is unchanged.
pub(crate) fn expanded(source: &str) -> String {
    let mut text = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line == "setters! {" {
            let table: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
            functions(&table, &mut text);
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Writes the functions of a table.
fn functions(table: &[&str], text: &mut String) {
    let mut lines = table
        .iter()
        .map(|line| line.strip_prefix("    ").unwrap_or(line));
    let (mut shared, mut comment) = (Vec::new(), Vec::new());
    let mut object = None;
    while let Some(line) = lines.next() {
        if line.starts_with("///") {
            comment.push(line);
        } else if let Some(head) = line.strip_suffix(';') {
            shared = std::mem::take(&mut comment);
            object = head.split_once(" as ");
        } else if line.starts_with("fn ") {
            let mut signature = line.to_owned();
            while !signature.contains(") {") {
                let more = lines.next().expect("a function has a body").trim();
                signature.push_str(more);
                signature.push(' ');
            }
            let (signature, body) = signature.split_once(") {").expect("it was found");
            let (name, arguments) = signature.split_once('(').expect("it has parameters");
            let (object, this) = object.expect("a table begins with its object");
            let parameters = arguments
                .split(", ")
                .filter_map(|each| each.split_once(':'));
            let parameters: Vec<&str> = std::iter::once(this)
                .chain(parameters.map(|(name, _)| name))
                .collect();
            for line in commented(&shared, std::mem::take(&mut comment), &parameters) {
                text.push_str(line);
                text.push('\n');
            }
            text.push_str(&format!(
                "#[unsafe(no_mangle)]\npub unsafe extern \"C\" {name}({this}: *mut {object}, \
                 {arguments}) -> mcplink_status_t {{}}\n\n"
            ));
            // A body on the same line ends there.
            if !body.ends_with('}') {
                lines.find(|line| *line == "}").expect("a function ends");
            }
        }
    }
}

/// Adds the shared comments to the comment of a function: the object stands before the other
/// parameters, and the result at the end.
fn commented<'a>(shared: &[&'a str], own: Vec<&'a str>, parameters: &[&str]) -> Vec<&'a str> {
    let begins = |line: &str, name: &str| {
        let text = line
            .strip_prefix("/// ")
            .and_then(|text| text.strip_prefix(name));
        text.is_some_and(|rest| rest.starts_with([':', ',']))
    };
    let result = shared.iter().position(|line| begins(line, "Returns"));
    let (object, result) = shared.split_at(result.unwrap_or(shared.len()));
    let last = own.iter().rposition(|line| *line == "///");
    let last = last.map_or(own.len(), |at| at + 1);
    let is_listed = own.get(last).is_some_and(|line| {
        let mut names = parameters.iter().chain(&["Returns"]);
        names.any(|name| begins(line, name))
    });
    let (mut all, list) = if is_listed {
        (own[..last].to_vec(), &own[last..])
    } else {
        let mut all = own.clone();
        all.push("///");
        (all, &[][..])
    };
    if !list.iter().any(|line| begins(line, parameters[0])) {
        all.extend(object);
    }
    all.extend(list);
    if !list.iter().any(|line| begins(line, "Returns")) {
        all.extend(result);
    }
    all
}
