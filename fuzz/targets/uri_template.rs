//! URI templates, against a matcher that tries everything.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcplink::fuzzing::server::Template;
use mcplink::fuzzing::url::{normalized, percent_encoded};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (template, rest) = text.split_once('\n').unwrap_or((text, ""));
    let Some(parsed) = Template::parse(template) else {
        return;
    };
    let (uri, values) = rest.split_once('\n').unwrap_or((rest, ""));
    check_match(&parsed, template, uri);
    parsed.matches_normalized(&normalized(uri));
    let values: Vec<&str> = values.split('\n').collect();
    check_expanded(&parsed, template, &values);
});

/// The operator and the names of an expression.
fn expression(text: &str) -> (char, Vec<&str>) {
    match text.chars().next() {
        Some(first @ ('+' | '/' | '.' | '?')) => (first, text[1..].split(',').collect()),
        _ => (' ', text.split(',').collect()),
    }
}

/// A part of a template: text, or the bytes that a variable does not take.
#[derive(Clone)]
enum Part<'a> {
    Text(&'a str),
    Variable(&'static str),
}

/// The parts of a template's path, where its optional parts begin, and its query.
fn parts(template: &str) -> (Vec<Part<'_>>, Vec<usize>, bool) {
    let (mut parts, mut ends, mut has_query) = (Vec::new(), Vec::new(), false);
    let mut rest = template;
    while let Some((text, behind)) = rest.split_once('{') {
        let (inside, behind) = behind.split_once('}').expect("the template was parsed");
        if !text.is_empty() {
            ends.clear();
            parts.push(Part::Text(text));
        }
        let (operator, names) = expression(inside);
        for index in 0..names.len() {
            match operator {
                '?' => has_query = true,
                '+' => {
                    ends.clear();
                    parts.push(Part::Variable("?#"));
                }
                '/' => {
                    ends.push(parts.len());
                    parts.extend([Part::Text("/"), Part::Variable("/?#")]);
                }
                '.' => {
                    ends.push(parts.len());
                    parts.extend([Part::Text("."), Part::Variable("/?#.")]);
                }
                _ => {
                    ends.clear();
                    if index > 0 {
                        parts.push(Part::Text(","));
                    }
                    parts.push(Part::Variable("/?#"));
                }
            }
        }
        rest = behind;
    }
    if !rest.is_empty() {
        ends.clear();
        parts.push(Part::Text(rest));
    }
    (parts, ends, has_query)
}

/// Whether some choice of values gives the text.
fn fits(parts: &[Part<'_>], text: &[u8]) -> bool {
    match parts.split_first() {
        None => text.is_empty(),
        Some((Part::Text(own), rest)) => text
            .strip_prefix(own.as_bytes())
            .is_some_and(|behind| fits(rest, behind)),
        Some((Part::Variable(not), rest)) => {
            let longest = text
                .iter()
                .take_while(|byte| !not.as_bytes().contains(byte))
                .count();
            (1..=longest).any(|end| fits(rest, &text[end..]))
        }
    }
}

/// A URI matches if, and only if, some choice of values gives it.
fn check_match(parsed: &Template, template: &str, uri: &str) {
    let found = parsed.matches(uri);
    let (parts, ends, has_query) = parts(template);
    // The matcher that tries everything takes exponential time.
    if uri.len() > 40 || parts.len() > 9 {
        return;
    }
    let path = match uri.split_once('?') {
        Some((path, _)) if has_query => path,
        _ => uri,
    };
    let ends = ends.into_iter().chain([parts.len()]);
    let expected = { ends }.any(|end| fits(&parts[..end], path.as_bytes()));
    // An escape must be whole and UTF-8, and a query has further rules.
    if found.is_some() || !uri.contains(['%', '?']) {
        assert_eq!(found.is_some(), expected, "{template} {uri}");
    }
}

/// Values that are put into a template are read out of the URI.
fn check_expanded(parsed: &Template, template: &str, values: &[&str]) {
    let mut values = values.iter().copied().filter(|value| !value.is_empty());
    let (mut uri, mut expected) = (String::new(), Vec::new());
    let mut rest = template;
    while let Some((text, behind)) = rest.split_once('{') {
        let (inside, behind) = behind.split_once('}').expect("the template was parsed");
        uri.push_str(text);
        let (operator, names) = expression(inside);
        for (index, name) in names.into_iter().enumerate() {
            let value = values.next().unwrap_or("x");
            let encoded = percent_encoded(value).replace('.', "%2E");
            match (operator, index) {
                ('?', 0) => uri += &format!("?{name}={encoded}"),
                ('?', _) => uri += &format!("&{name}={encoded}"),
                (' ' | '+', 0) => uri += &encoded,
                (' ', _) => uri += &format!(",{encoded}"),
                (operator, _) => uri += &format!("{operator}{encoded}"),
            }
            let value = if operator == '+' {
                encoded
            } else {
                value.to_owned()
            };
            expected.push((name.to_owned(), value));
        }
        rest = behind;
    }
    uri.push_str(rest);
    let found = parsed
        .matches(&uri)
        .expect("the URI was made from the template");
    assert_eq!(found.len(), parsed.names().len());
    // Where texts of the template may stand in values, other values can give the same URI.
    if template
        .split(['{', '}'])
        .step_by(2)
        .skip(1)
        .all(|text| text.is_empty() || text == "/")
    {
        let expected: std::collections::BTreeMap<_, _> = expected.into_iter().collect();
        assert_eq!(found, expected, "{template} {uri}");
    }
}
