//! The rules of the extension for the members of a server card.
//!
//! Spec: Extensions, "Server Cards" (SEP-2127), `schema.ts`, "Information Disclosure".

use super::card_input::{CardFormat, CardInput, CardRemote};
use crate::error::{Error, Excerpt, Result};
use crate::schema::url::Url;
use crate::schema::{JsonObject, check_meta_key};

fn invalid(member: &str, value: &str, why: &str) -> Error {
    let text = format!("the server card's {member} '{}' {why}", Excerpt(value));
    Error::invalid(text)
}

/// Checks the texts that every card has, and the title.
// E-CARD-S-15, E-CARD-S-18
pub(super) fn check_texts(
    name: &str,
    version: &str,
    description: &str,
    title: Option<&str>,
) -> Result<()> {
    let plain = |text: &str, more: &str| {
        let is_known = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
        !text.is_empty() && text.chars().all(is_known)
    };
    let is_name = name
        .split_once('/')
        .is_some_and(|(domain, name)| plain(domain, ".-") && plain(name, "._-"));
    if !is_name || name.len() > 200 {
        let why = "is not a reversed domain, a slash and a name, of up to 200 characters";
        return Err(invalid("name", name, why));
    }
    for (member, text, max) in [
        ("version", Some(version), 255),
        ("description", Some(description), 100),
        ("title", title, 100),
    ] {
        let Some(text) = text else { continue };
        let count = text.chars().count();
        if count == 0 || count > max {
            let why = format!("has {count} characters, and has to have 1 to {max}");
            return Err(invalid(member, text, &why));
        }
    }
    if is_range(version) {
        return Err(invalid("version", version, "is a range, not a version"));
    }
    Ok(())
}

fn is_range(version: &str) -> bool {
    let is_wildcard = |part: &str| matches!(part, "x" | "X" | "*");
    let core = version.split(['-', '+']).next().unwrap_or_default();
    version.starts_with(['^', '~', '>', '<', '='])
        || version.contains("||")
        || version.contains(" - ")
        || core.split('.').any(is_wildcard)
}

/// Returns a warning if a version is not a semantic one.
// E-CARD-S-17
pub(super) fn version_warning(version: &str) -> Option<String> {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    let is_number = |part: &&str| {
        let has_zero = part.len() > 1 && part.starts_with('0');
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) && !has_zero
    };
    match parts.len() == 3 && parts.iter().all(is_number) {
        true => None,
        false => Some(format!(
            "the server card's version '{}' is not a semantic version (1.2.3)",
            Excerpt(version)
        )),
    }
}

pub(super) fn check_url(member: &str, url: &str) -> Result<()> {
    match Url::read(url) {
        Some(read) if read.user.is_none() => Ok(()),
        Some(_) => Err(invalid(member, url, "has credentials")),
        None => Err(invalid(member, url, "is not a URL")),
    }
}

// E-CARD-S-20
pub(super) fn check_meta(meta: &JsonObject) -> Result<()> {
    let mut keys = meta.keys();
    keys.try_for_each(|key| check_meta_key(key).map_err(|error| error.context("the server card")))
}

/// Checks a remote. Returns a warning if clients would reach it without TLS.
pub(super) fn check_remote(remote: &CardRemote) -> Result<Option<String>> {
    let url = &remote.url;
    let fault = |why: &str| Err(invalid("remote", url, why));
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    if url.contains(char::is_whitespace) || !(is_web || url.starts_with('{')) {
        return fault("is not an http or https URL");
    }
    let Some(names) = variables(url) else {
        return fault("has a variable whose name is not of letters, digits and '_'");
    };
    if let Some(name) = names
        .iter()
        .find(|name| !remote.variables.contains_key(**name))
    {
        return fault(&format!(
            "has the variable '{name}', which is not described"
        ));
    }
    // With a digit for each variable, the URL can be split: a digit may stand in a host, a port and
    // a path.
    let mut plain = url.clone();
    for name in &names {
        plain = plain.replace(&format!("{{{name}}}"), "1");
    }
    let read = is_web.then(|| Url::read(&plain));
    let loopback = match read {
        Some(None) => return fault("is not an http or https URL"),
        // E-CARD-S-11
        Some(Some(read)) if read.user.is_some() => return fault("has credentials"),
        Some(Some(read)) => read.is_loopback(),
        None => false,
    };
    for (name, input) in &remote.variables {
        check_input(&format!("variable '{name}'"), input)?;
    }
    for header in &remote.headers {
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if header.name.is_empty() || !header.name.bytes().all(is_token) {
            return Err(invalid(
                "header",
                &header.name,
                "is not the name of a field",
            ));
        }
        check_input(&format!("header '{}'", header.name), &header.input)?;
    }
    // E-CARD-S-09, E-CARD-S-10
    let warning = format!(
        "the server card's remote '{}' is reached without TLS",
        Excerpt(url)
    );
    Ok((url.starts_with("http://") && !loopback).then_some(warning))
}

/// Returns the names of the variables in a URL, or `None` if a brace is in a wrong place.
fn variables(url: &str) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    let mut rest = url;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
        let is_known = |c: char| is_letter(c) || c.is_ascii_digit();
        if before.contains('}') || !name.starts_with(is_letter) || !name.chars().all(is_known) {
            return None;
        }
        names.push(name);
        rest = after;
    }
    (!rest.contains('}')).then_some(names)
}

fn check_input(what: &str, input: &CardInput) -> Result<()> {
    // E-CARD-S-11
    if input.is_secret && (input.value.is_some() || input.default.is_some()) {
        let text = format!("the server card's {what} is secret, but the card has its value");
        return Err(Error::invalid(text));
    }
    // E-CARD-S-19
    for (member, value) in [("default", &input.default), ("value", &input.value)] {
        let Some(value) = value else { continue };
        let is_format = match input.format {
            Some(CardFormat::Number) => value.parse::<f64>().is_ok_and(f64::is_finite),
            Some(CardFormat::Boolean) => matches!(&**value, "true" | "false"),
            Some(CardFormat::String | CardFormat::FilePath) | None => true,
        };
        if !is_format || !(input.choices.is_empty() || input.choices.contains(value)) {
            let why = format!("of {what} fits neither its format nor its choices");
            return Err(invalid(member, value, &why));
        }
    }
    Ok(())
}
