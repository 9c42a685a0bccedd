//! Expansion of URI templates (RFC 6570) with values that are texts.
//!
//! Every kind of expression is supported. A list or a map can't be a value, so the modifier `*` has
//! no effect.

use super::url::push_encoded;

/// The rules for expanding the expressions with one operator (RFC 6570, appendix A).
struct Operator {
    first: &'static str,
    separator: &'static str,
    /// Whether the name of a variable is written before its value.
    is_named: bool,
    /// The text after the name of a variable whose value is empty.
    if_empty: &'static str,
    /// Whether reserved characters and percent-encoded bytes are kept.
    keeps_reserved: bool,
}

impl Operator {
    /// Returns the operator of an expression, and the expression without the operator.
    fn of(expression: &str) -> Result<(Self, &str), String> {
        let simple = Self {
            first: "",
            separator: ",",
            is_named: false,
            if_empty: "",
            keeps_reserved: false,
        };
        let unnamed = |first, separator| Self {
            first,
            separator,
            ..simple
        };
        let named = |first, separator, if_empty| Self {
            is_named: true,
            if_empty,
            ..unnamed(first, separator)
        };
        let Some(sign) = expression.chars().next() else {
            return Err("an expression is empty".to_owned());
        };
        let operator = match sign {
            '+' | '#' => Self {
                keeps_reserved: true,
                ..unnamed(if sign == '#' { "#" } else { "" }, ",")
            },
            '.' => unnamed(".", "."),
            '/' => unnamed("/", "/"),
            ';' => named(";", ";", ""),
            '?' => named("?", "&", "="),
            '&' => named("&", "&", "="),
            '=' | ',' | '!' | '@' | '|' => {
                return Err(format!("the operator '{sign}' is reserved"));
            }
            _ => return Ok((simple, expression)),
        };
        Ok((operator, &expression[1..]))
    }
}

/// Expands a template. `value_of` returns the value of a variable; a variable without a value is
/// omitted from its expression.
pub(super) fn expand<'a>(
    template: &str,
    value_of: impl Fn(&str) -> Option<&'a str>,
) -> Result<String, String> {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        push(&mut out, &rest[..at], true);
        let Some((expression, behind)) = rest[at..]
            .strip_prefix('{')
            .and_then(|inner| inner.split_once('}'))
        else {
            return Err("a brace has no counterpart".to_owned());
        };
        expand_expression(&mut out, expression, &value_of)?;
        rest = behind;
    }
    push(&mut out, rest, true);
    Ok(out)
}

fn expand_expression<'a>(
    out: &mut String,
    expression: &str,
    value_of: impl Fn(&str) -> Option<&'a str>,
) -> Result<(), String> {
    let (operator, variables) = Operator::of(expression)?;
    let mut before = operator.first;
    for variable in variables.split(',') {
        let (name, most) = read_variable(variable)?;
        let Some(value) = value_of(name) else {
            continue;
        };
        let end = most.and_then(|most| value.char_indices().nth(most));
        let value = end.map_or(value, |(end, _)| &value[..end]);
        out.push_str(before);
        before = operator.separator;
        if operator.is_named {
            out.push_str(name);
            out.push_str(if value.is_empty() {
                operator.if_empty
            } else {
                "="
            });
        }
        push(out, value, operator.keeps_reserved);
    }
    Ok(())
}

/// Returns the name of a variable, and the maximum number of characters of its value.
fn read_variable(variable: &str) -> Result<(&str, Option<usize>), String> {
    let (name, most) = match variable.split_once(':') {
        Some((name, digits)) => {
            let most = digits
                .parse()
                .ok()
                .filter(|most| (1..10_000).contains(most));
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            let most = most.filter(|_| is_plain);
            (
                name,
                Some(most.ok_or("the length of a prefix is 1 to 9999")?),
            )
        }
        None => (variable.strip_suffix('*').unwrap_or(variable), None),
    };
    let is_part = |part: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'%';
        !part.is_empty() && part.bytes().all(is_letter)
    };
    match name.split('.').all(is_part) {
        true => Ok((name, most)),
        false => Err("the name of a variable is invalid".to_owned()),
    }
}

/// Appends a text in percent-encoding. With `keeps_reserved`, reserved characters and bytes that
/// are percent-encoded already are copied unchanged.
fn push(out: &mut String, text: &str, keeps_reserved: bool) {
    let bytes = text.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let is_escape = byte == b'%'
            && bytes
                .get(at + 1..at + 3)
                .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let is_kept = keeps_reserved && (b":/?#[]@!$&'()*+,;=".contains(&byte) || is_escape);
        match is_kept {
            true => out.push(char::from(byte)),
            false => push_encoded(out, byte),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn value(name: &str) -> Option<&'static str> {
        // The values of RFC 6570, section 3.2.
        Some(match name {
            "dub" => "me/too",
            "hello" => "Hello World!",
            "half" => "50%",
            "var" => "value",
            "who" => "fred",
            "base" => "http://example.com/home/",
            "path" => "/foo/bar",
            "v" => "6",
            "x" => "1024",
            "y" => "768",
            "empty" => "",
            "semi" => ";",
            "a.b" => "dots",
            "word" => "é😀x",
            "done" => "%41",
            _ => return None,
        })
    }

    #[test]
    fn the_examples_of_the_rfc_are_expanded() {
        for (template, wanted) in [
            ("", ""),
            ("{var}", "value"),
            ("{hello}", "Hello%20World%21"),
            ("{half}", "50%25"),
            ("O{empty}X", "OX"),
            ("O{undef}X", "OX"),
            ("{x,y}", "1024,768"),
            ("{x,hello,y}", "1024,Hello%20World%21,768"),
            ("?{x,empty}", "?1024,"),
            ("?{x,undef}", "?1024"),
            ("?{undef,y}", "?768"),
            ("{var:3}", "val"),
            ("{var:30}", "value"),
            ("{+var}", "value"),
            ("{+hello}", "Hello%20World!"),
            ("{+half}", "50%25"),
            ("{+done}", "%41"),
            ("{done}", "%2541"),
            ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
            ("{+base}index", "http://example.com/home/index"),
            ("O{+empty}X", "OX"),
            ("{+path}/here", "/foo/bar/here"),
            ("here?ref={+path}", "here?ref=/foo/bar"),
            ("up{+path}{var}/here", "up/foo/barvalue/here"),
            ("{+x,hello,y}", "1024,Hello%20World!,768"),
            ("{+path:6}/here", "/foo/b/here"),
            ("{#var}", "#value"),
            ("foo{#empty}", "foo#"),
            ("foo{#undef}", "foo"),
            ("{#path,x}/here", "#/foo/bar,1024/here"),
            ("{.who}", ".fred"),
            ("{.who,who}", ".fred.fred"),
            ("{.half,who}", ".50%25.fred"),
            ("X{.empty}", "X."),
            ("{/who}", "/fred"),
            ("{/half,who}", "/50%25/fred"),
            ("{/var,empty}", "/value/"),
            ("{/var,undef}", "/value"),
            ("{/var:1,var}", "/v/value"),
            ("{;who}", ";who=fred"),
            ("{;half}", ";half=50%25"),
            ("{;empty}", ";empty"),
            ("{;v,empty,who}", ";v=6;empty;who=fred"),
            ("{;v,undef,who}", ";v=6;who=fred"),
            ("{?who}", "?who=fred"),
            ("{?x,y,empty}", "?x=1024&y=768&empty="),
            ("{?x,y,undef}", "?x=1024&y=768"),
            ("{?var:3}", "?var=val"),
            ("{&x,y,empty}", "&x=1024&y=768&empty="),
            ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
            ("{var*}", "value"),
            ("{a.b}", "dots"),
            ("{word:2}", "%C3%A9%F0%9F%98%80"),
            ("docs://café/{who}", "docs://caf%C3%A9/fred"),
            ("{semi}{+semi}", "%3B;"),
        ] {
            assert_eq!(expand(template, value).as_deref(), Ok(wanted), "{template}");
        }
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for template in [
            "{",
            "}",
            "a}b",
            "{a",
            "{a{b}}",
            "{}",
            "{+}",
            "{,}",
            "{a,}",
            "{=a}",
            "{!a}",
            "{@a}",
            "{|a}",
            "{a:0}",
            "{a:10000}",
            "{a:}",
            "{a:+1}",
            "{a:x}",
            "{a b}",
            "{a..b}",
            "{.}",
            "{a-b}",
        ] {
            assert!(expand(template, |_| Some("x")).is_err(), "{template}");
        }
    }
}
