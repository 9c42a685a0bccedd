//! The names that the proxy gives to tools and prompts.
//!
//! Interfaces of models take names of at most 64 letters, digits, `-` and `_`. A name that does not
//! fit is shortened, and gets a digest of the whole name. So it depends on its server and on the
//! names of the other servers only: not on their order, nor on what they list.

/// The longest name that interfaces of models take.
const MAX_NAME: usize = 64;
/// The longest prefix. It leaves room for the own name of a tool.
const MAX_PREFIX: usize = 32;
/// The text between the name of a server and the own name of its tool or prompt.
const SEPARATOR: &str = "__";

/// Returns the prefix of each server. Servers whose prefixed names could be equal get a digest of
/// their name.
pub(super) fn prefixes(servers: &[&str]) -> Vec<String> {
    let max = MAX_PREFIX - SEPARATOR.len();
    let short = |name: &str| match name.len() <= max {
        true => plain(name),
        false => with_digest(name, max),
    };
    let all: Vec<String> = servers.iter().map(|name| short(name) + SEPARATOR).collect();
    let clash = |one: &str, other: &str| one.starts_with(other) || other.starts_with(one);
    let is_alone = |one: &str| all.iter().filter(|other| clash(one, other)).count() == 1;
    let named = servers.iter().zip(&all);
    let named = named.map(|(name, prefix)| match is_alone(prefix) {
        true => prefix.clone(),
        false => with_digest(name, max) + SEPARATOR,
    });
    named.collect()
}

/// Returns the name of a tool behind a prefix. Without a prefix it is its own name, if interfaces of
/// models take its length, and the protocol its characters.
pub(super) fn of_tool(prefix: &str, own: &str) -> String {
    let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    match prefix.is_empty() && !(own.len() <= MAX_NAME && own.bytes().all(is_taken)) {
        true => with_digest(own, MAX_NAME),
        false => prefixed(prefix, own),
    }
}

/// Returns the name of a tool or prompt behind a prefix. Without a prefix it is its own name.
pub(super) fn prefixed(prefix: &str, own: &str) -> String {
    let name = format!("{prefix}{own}");
    match prefix.is_empty() || name.len() <= MAX_NAME && plain(&name) == name {
        true => name,
        false => with_digest(&name, MAX_NAME),
    }
}

/// Replaces the characters that interfaces of models do not take.
fn plain(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let plain = |letter| if is_plain(letter) { letter } else { '_' };
    name.chars().map(plain).collect()
}

/// Returns the beginning of a name with a digest of the whole name, together at most `max` bytes.
fn with_digest(name: &str, max: usize) -> String {
    let mut text = plain(name);
    text.truncate(max - 9);
    format!("{text}_{:08x}", digest(name))
}

/// FNV-1a with 64 bits, folded to 32. It is the same in each version of the program.
fn digest(name: &str) -> u32 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    (hash ^ hash >> 32) as u32
}
