//! Expansion of URI templates (RFC 6570, level 4).

use serde_json::Value;

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

/// Expands a template. `value_of` returns the value of a variable: a scalar, a list of scalars, or
/// an object of scalars. A variable without a value is omitted from its expression. So is a
/// variable whose value is null, an empty list or an empty object.
pub(super) fn expand<'a>(
    template: &str,
    value_of: impl Fn(&str) -> Option<&'a Value>,
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
    value_of: impl Fn(&str) -> Option<&'a Value>,
) -> Result<(), String> {
    let (operator, variables) = Operator::of(expression)?;
    let mut before = operator.first;
    for variable in variables.split(',') {
        let variable = Variable::read(variable)?;
        let Some(value) = value_of(variable.name) else {
            continue;
        };
        for part in operator.parts(&variable, value)? {
            out.push_str(before);
            before = operator.separator;
            out.push_str(&part);
        }
    }
    Ok(())
}

impl Operator {
    /// Returns the texts that a variable adds to its expression: one text, or with the modifier `*`
    /// one text for each element.
    fn parts(&self, variable: &Variable<'_>, value: &Value) -> Result<Vec<String>, String> {
        let name = variable.name;
        if variable.most.is_some() && (value.is_array() || value.is_object()) {
            return Err(format!(
                "'{name}' is a list or an object, which has no prefix"
            ));
        }
        let texts: Vec<String> = match value {
            Value::Array(elements) => {
                let texts = elements.iter().filter_map(|element| scalar(name, element));
                let encoded = texts.map(|text| text.map(|text| self.encoded(&text)));
                encoded.collect::<Result<_, _>>()?
            }
            Value::Object(members) => {
                let mut texts = Vec::new();
                for (key, member) in members {
                    let Some(member) = scalar(name, member).transpose()? else {
                        continue;
                    };
                    match variable.explodes {
                        true => texts.push(self.member(key, &member)),
                        false => texts.extend([self.encoded(key), self.encoded(&member)]),
                    }
                }
                if variable.explodes {
                    return Ok(texts);
                }
                texts
            }
            plain => {
                let text = scalar(name, plain).transpose()?;
                text.map(|text| self.encoded(variable.prefix(&text)))
                    .into_iter()
                    .collect()
            }
        };
        let texts = match variable.explodes || texts.is_empty() {
            true => texts,
            false => vec![texts.join(",")],
        };
        Ok(texts.iter().map(|text| self.named(name, text)).collect())
    }

    fn encoded(&self, text: &str) -> String {
        let mut encoded = String::with_capacity(text.len());
        push(&mut encoded, text, self.keeps_reserved);
        encoded
    }

    /// Returns an encoded value, with the name of its variable before it if the operator has names.
    fn named(&self, name: &str, value: &str) -> String {
        match (self.is_named, value.is_empty()) {
            (false, _) => value.to_owned(),
            (true, true) => format!("{name}{}", self.if_empty),
            (true, false) => format!("{name}={value}"),
        }
    }

    /// Returns a member of an object, with its key as a name.
    fn member(&self, key: &str, value: &str) -> String {
        let mut name = String::with_capacity(key.len());
        push(&mut name, key, self.is_named || self.keeps_reserved);
        let value = self.encoded(value);
        match self.is_named {
            true => self.named(&name, &value),
            false => format!("{name}={value}"),
        }
    }
}

/// Returns the text of a scalar, or `None` for null.
fn scalar(name: &str, value: &Value) -> Option<Result<String, String>> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Ok(text.clone())),
        Value::Bool(_) | Value::Number(_) => Some(Ok(value.to_string())),
        Value::Array(_) | Value::Object(_) => {
            Some(Err(format!("'{name}' has a list or an object in it")))
        }
    }
}

/// A variable of an expression, with its modifier.
struct Variable<'a> {
    name: &'a str,
    /// The maximum number of characters of the value (`:3`).
    most: Option<usize>,
    /// Whether each element of a list or an object is expanded by itself (`*`).
    explodes: bool,
}

impl<'a> Variable<'a> {
    fn read(variable: &'a str) -> Result<Self, String> {
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
        if !name.split('.').all(is_part) {
            return Err("the name of a variable is invalid".to_owned());
        }
        let explodes = variable.ends_with('*');
        Ok(Self {
            name,
            most,
            explodes,
        })
    }

    /// Returns the beginning of a value that the modifier keeps.
    fn prefix<'v>(&self, value: &'v str) -> &'v str {
        let end = self.most.and_then(|most| value.char_indices().nth(most));
        end.map_or(value, |(end, _)| &value[..end])
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
    use serde_json::json;

    use super::*;

    /// Returns the values of RFC 6570, section 3.2.
    fn values() -> Value {
        json!({
            "count": ["one", "two", "three"],
            "dub": "me/too",
            "hello": "Hello World!",
            "half": "50%",
            "var": "value",
            "who": "fred",
            "base": "http://example.com/home/",
            "path": "/foo/bar",
            "list": ["red", "green", "blue"],
            "keys": {"semi": ";", "dot": ".", "comma": ","},
            "v": "6",
            "x": "1024",
            "y": 768,
            "empty": "",
            "empty_list": [],
            "empty_keys": {},
            "undef": null,
            "semi": ";",
            "a.b": "dots",
            "word": "é😀x",
            "done": "%41",
            "flag": true,
            "holes": ["", null, "x"],
            "odd": {"a/b": "", "c": null, "d e": 1.5},
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
            ("{flag}", "true"),
            // The members of an object are in the order of their names.
            ("{count}", "one,two,three"),
            ("{count*}", "one,two,three"),
            ("{/count}", "/one,two,three"),
            ("{/count*}", "/one/two/three"),
            ("{;count}", ";count=one,two,three"),
            ("{;count*}", ";count=one;count=two;count=three"),
            ("{?count}", "?count=one,two,three"),
            ("{?count*}", "?count=one&count=two&count=three"),
            ("{&count*}", "&count=one&count=two&count=three"),
            ("{keys}", "comma,%2C,dot,.,semi,%3B"),
            ("{keys*}", "comma=%2C,dot=.,semi=%3B"),
            ("{+path,list}", "/foo/bar,red,green,blue"),
            ("{+list*}", "red,green,blue"),
            ("{+keys}", "comma,,,dot,.,semi,;"),
            ("{+keys*}", "comma=,,dot=.,semi=;"),
            ("{#list*}", "#red,green,blue"),
            ("{#keys*}", "#comma=,,dot=.,semi=;"),
            ("X{.list}", "X.red,green,blue"),
            ("X{.list*}", "X.red.green.blue"),
            ("X{.keys*}", "X.comma=%2C.dot=..semi=%3B"),
            ("X{.empty_keys}", "X"),
            ("X{.empty_keys*}", "X"),
            ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
            ("{/keys*}", "/comma=%2C/dot=./semi=%3B"),
            ("{;list*}", ";list=red;list=green;list=blue"),
            ("{;keys}", ";keys=comma,%2C,dot,.,semi,%3B"),
            ("{;keys*}", ";comma=%2C;dot=.;semi=%3B"),
            ("{?list*,x}", "?list=red&list=green&list=blue&x=1024"),
            ("{?keys}", "?keys=comma,%2C,dot,.,semi,%3B"),
            ("{?keys*}", "?comma=%2C&dot=.&semi=%3B"),
            ("{&list}", "&list=red,green,blue"),
            ("{?empty_list,empty_keys*,x}", "?x=1024"),
            ("{?holes*}", "?holes=&holes=x"),
            ("{;holes*}", ";holes;holes=x"),
            ("{holes}", ",x"),
            ("{?odd*}", "?a/b=&d%20e=1.5"),
            ("{odd*}", "a%2Fb=,d%20e=1.5"),
            ("{a.b}", "dots"),
            ("{word:2}", "%C3%A9%F0%9F%98%80"),
            ("docs://café/{who}", "docs://caf%C3%A9/fred"),
            ("{semi}{+semi}", "%3B;"),
        ] {
            let values = values();
            let expanded = expand(template, |name| values.get(name));
            assert_eq!(expanded.as_deref(), Ok(wanted), "{template}");
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
            let value = json!("x");
            assert!(expand(template, |_| Some(&value)).is_err(), "{template}");
        }
    }

    #[test]
    fn a_value_without_an_expansion_is_refused() {
        for (template, value) in [
            ("{a:3}", json!(["x"])),
            ("{a:3}", json!({"x": "y"})),
            ("{a}", json!([["x"]])),
            ("{a*}", json!({"x": {}})),
        ] {
            assert!(expand(template, |_| Some(&value)).is_err(), "{template}");
        }
    }
}
