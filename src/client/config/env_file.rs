//! Files of environment variables (`envFile`).

/// Reads lines of the form `NAME=VALUE`. Empty lines and lines that begin with `#` are skipped.
///
/// # Errors
///
/// The number of the first line that has another form.
pub(super) fn read(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut variables = Vec::new();
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or(number)?;
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(number);
        }
        variables.push((name.to_owned(), unquoted(value.trim())));
    }
    Ok(variables)
}

/// Removes quotes around a value. Within double quotes, `\n` and the like are replaced; outside of
/// quotes, a comment ends the value.
fn unquoted(value: &str) -> String {
    let within = |quote: char| {
        let rest = value.strip_prefix(quote)?;
        rest.strip_suffix(quote)
    };
    if let Some(text) = within('\'') {
        return text.to_owned();
    }
    let Some(text) = within('"') else {
        let end = value.find(" #").unwrap_or(value.len());
        return value[..end].trim_end().to_owned();
    };
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => plain.push('\n'),
                Some('r') => plain.push('\r'),
                Some('t') => plain.push('\t'),
                Some(other) => plain.push(other),
                None => plain.push('\\'),
            },
            (c, false) => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn lines_are_read() {
        let text = "\u{feff}# comment\n\nA=1\nexport B = 'x # y'\nC=\"a\\n\\\"b\"\nD=a b # c\nE=\n";
        let read = read(text).expect("a file");
        let read: Vec<(&str, &str)> = read.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(
            read,
            [
                ("A", "1"),
                ("B", "x # y"),
                ("C", "a\n\"b"),
                ("D", "a b"),
                ("E", "")
            ]
        );
    }

    #[test]
    fn a_wrong_line_is_numbered() {
        assert_eq!(read("A=1\nsecret"), Err(2));
        assert_eq!(read("=x"), Err(1));
        assert_eq!(read("A B=x"), Err(1));
    }
}
