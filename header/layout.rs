//! The order and the comments of the header. cbindgen writes all types first, in the order of the
//! alphabet, and comments as they are in Rust.

use std::collections::BTreeSet;

/// A section of the header: its title, and the Rust source of its functions.
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) source: String,
}

/// Basic types, which most functions use: they stay in front, before the objects.
const BASIC: &[&str] = &[
    "mcplink_status",
    "mcplink_status_t",
    "mcplink_str_t",
    "mcplink_destroy_fn",
];

/// Where the list of sections goes, in the comment of cbindgen.toml.
const CONTENTS: &str = " * CONTENTS\n";
const TYPES_BEGIN: &str = "#define MCPLINK_FOREVER UINT32_MAX\n\n";
const FUNCTIONS_BEGIN: &str = "#ifdef __cplusplus\nextern \"C\" {\n#endif // __cplusplus\n\n";
const FUNCTIONS_END: &str = "\n\n#ifdef __cplusplus\n}  // extern \"C\"";

/// Arranges the header in sections. Enumerations and callback types stand before the first function
/// that uses them. Comments get the tags of Doxygen.
pub(crate) fn arranged(header: &str, sections: &[Section]) -> String {
    let (front, rest) = header.split_once(TYPES_BEGIN).expect("the types begin");
    let (types, rest) = rest.split_once(FUNCTIONS_BEGIN).expect("functions begin");
    let (functions, end) = rest.split_once(FUNCTIONS_END).expect("functions end");
    let types: Vec<Block> = types.trim().split("\n\n").map(Block::new).collect();
    let functions: Vec<Block> = functions.trim().split("\n\n").map(Block::new).collect();

    let is_basic = |block: &&Block| BASIC.contains(&block.name.as_str());
    let is_object = |block: &&Block| block.code.starts_with("typedef struct ");
    let beside = |block: &&Block| !is_basic(block) && !is_object(block);
    let mut parts = vec![heading("Basic types")];
    parts.extend(types.iter().filter(is_basic).map(Block::text));
    parts.push(heading("Objects"));
    let objects = |block: &&Block| is_object(block) && !is_basic(block);
    parts.extend(types.iter().filter(objects).map(Block::text));
    parts.push(FUNCTIONS_BEGIN.trim_end().to_owned());
    let types: Vec<&Block> = types.iter().filter(beside).collect();
    let places = places(&types, &functions);
    let mut current = None;
    for (at, function) in functions.iter().enumerate() {
        let definition = format!(" fn {}(", function.name);
        let section = (sections.iter()).position(|it| it.source.contains(&definition));
        let section = section.expect("each function is in a source file of a section");
        if current != Some(section) {
            current = Some(section);
            parts.push(heading(sections[section].title));
        }
        let here = types.iter().zip(&places).filter(|(_, place)| **place == at);
        parts.extend(here.map(|(block, _)| block.text()));
        parts.push(function.text());
    }
    let front = front.replacen(CONTENTS, &contents(sections), 1);
    format!(
        "{front}{TYPES_BEGIN}{}{FUNCTIONS_END}{end}",
        parts.join("\n\n")
    )
}

/// The list of sections, for the comment at the top.
fn contents(sections: &[Section]) -> String {
    let titles = ["Basic types", "Objects"].into_iter();
    titles
        .chain(sections.iter().map(|section| section.title))
        .map(|title| format!(" *   ==== {title} ====\n"))
        .collect()
}

fn heading(title: &str) -> String {
    format!("/* ==== {title} ==== */")
}

/// Returns the index of the function before which each type stands: the first one whose declaration
/// mentions the type, or else whose comment mentions it or one of its constants. A type that another
/// type mentions stands before that type.
fn places(types: &[&Block], functions: &[Block]) -> Vec<usize> {
    let first = |name: &str, text: fn(&Block) -> &str| {
        (functions.iter()).position(|function| words(text(function)).any(|word| word == name))
    };
    let mut places: Vec<usize> = (types.iter())
        .map(|it| {
            first(&it.name, |block| &block.code)
                .or_else(|| first(&it.name, |block| &block.comment))
                .or_else(|| {
                    let constants = words(&it.code).filter(|word| word.starts_with("MCPLINK_"));
                    let found = constants.filter_map(|name| first(name, |block| &block.comment));
                    found.min()
                })
                .unwrap_or(functions.len() - 1)
        })
        .collect();
    // Types mention each other over one step at most: enumerations in callbacks.
    for (user, used_by) in types.iter().enumerate() {
        let mentioned: BTreeSet<&str> = words(&used_by.comment)
            .chain(words(&used_by.code))
            .collect();
        for (other, it) in types.iter().enumerate() {
            if other != user && mentioned.contains(it.name.as_str()) {
                places[other] = places[other].min(places[user]);
            }
        }
    }
    places
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|it: char| !it.is_alphanumeric() && it != '_')
}

/// A declaration with its comment.
struct Block {
    comment: String,
    code: String,
    /// The name of the type or function.
    name: String,
}

impl Block {
    fn new(text: &str) -> Self {
        let end = text.find(" */\n").map_or(0, |at| at + " */\n".len());
        let (comment, code) = text.split_at(end);
        let name = match code.split_once("mcplink_") {
            Some(_) if code.contains("MCPLINK_API") => {
                words(code.split('(').next().unwrap_or(code)).last()
            }
            _ if code.contains("(*") => words(code.split_once("(*").map_or(code, |it| it.1)).next(),
            _ => words(code.trim_end_matches(';')).last(),
        };
        Self {
            comment: comment.to_owned(),
            code: code.to_owned(),
            name: name.unwrap_or_default().to_owned(),
        }
    }

    fn text(&self) -> String {
        tagged(&self.comment, &self.parameters()) + &self.code
    }

    /// The names of the parameters of a function or of a callback.
    fn parameters(&self) -> BTreeSet<&str> {
        if !self.code.contains('(') {
            return BTreeSet::new();
        }
        self.code
            .split([',', ')'])
            .filter_map(|it| words(it).filter(|word| !word.is_empty()).last())
            .collect()
    }
}

/// Writes "name: text", "Returns: text", "Threads: text" and "Blocks: text" with the tags of Doxygen.
fn tagged(comment: &str, parameters: &BTreeSet<&str>) -> String {
    let lines = comment.lines().map(|line| match line.strip_prefix(" * ") {
        Some(text) => format!(" * {}\n", with_tag(text, parameters)),
        None => format!("{line}\n"),
    });
    lines.collect()
}

fn with_tag(text: &str, parameters: &BTreeSet<&str>) -> String {
    if let Some(result) = text.strip_prefix("Returns:") {
        return format!("@return{result}");
    }
    if text.starts_with("Threads:") || text.starts_with("Blocks:") {
        return format!("@note {text}");
    }
    let Some((names, meaning)) = text.split_once(": ") else {
        return text.to_owned();
    };
    let names: Vec<&str> = names.split(", ").collect();
    let is_parameter =
        |name: &&str| parameters.contains(name) || parameters.contains(format!("{name}_").as_str());
    if !names.iter().all(is_parameter) {
        return text.to_owned();
    }
    format!("@param {} {meaning}", names.join(","))
}
