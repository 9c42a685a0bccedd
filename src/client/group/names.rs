//! The names of tools and prompts in a group.

use std::collections::HashSet;

use crate::error::{Error, ErrorKind, Excerpt, Result};

/// The text between the name of a server and the own name of its tool or prompt.
pub(super) const SEPARATOR: &str = "__";

/// The rule for the names of tools and prompts in a [`Group`](super::Group).
///
/// Resources keep their URIs under each rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupNames {
    /// Each name has the name of its server as a prefix, such as `files__read`. A name keeps its
    /// meaning when a server is added.
    #[default]
    Prefixed,
    /// A name has a prefix only if several servers of the group have the name, or if the name looks
    /// like a prefixed name. Prefixed names can be used for all tools and prompts.
    ///
    /// A name without a prefix means the only server that has it. Once lists of the group have
    /// contained the name for several servers, a call with the name fails. The call is never sent
    /// to a server by chance.
    PrefixedOnClash,
}

/// The kind of item that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Prompt,
    Resource,
}

/// The names that a server listed last. A list is `None` until the group has read it.
#[derive(Debug, Default)]
pub(super) struct Listed {
    tools: Option<HashSet<String>>,
    prompts: Option<HashSet<String>>,
    resources: Option<HashSet<String>>,
}

impl Listed {
    pub(super) fn of(&mut self, kind: Kind) -> &mut Option<HashSet<String>> {
        match kind {
            Kind::Tool => &mut self.tools,
            Kind::Prompt => &mut self.prompts,
            Kind::Resource => &mut self.resources,
        }
    }
}

/// Returns the prefix of a server's names.
pub(super) fn prefix(name: &str) -> Result<String> {
    if name.is_empty() {
        let text = "the name of a server in a group can't be empty";
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let plain = |letter| if is_plain(letter) { letter } else { '_' };
    let mut prefix: String = name.chars().map(plain).collect();
    prefix.push_str(SEPARATOR);
    Ok(prefix)
}

/// Returns an error if a tool name could begin with both the prefix of a new server and the prefix
/// of another one.
pub(super) fn check_prefix<'a>(
    name: &str,
    prefix: &str,
    mut others: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<()> {
    let clashes = |other: &str| other.starts_with(prefix) || prefix.starts_with(other);
    match others.find(|(_, other)| clashes(other)) {
        None => Ok(()),
        Some((other, _)) => {
            let (name, other) = (Excerpt(name), Excerpt(other));
            let text =
                format!("the names of '{name}' and '{other}' can't be told apart in a group");
            Err(Error::new(ErrorKind::Invalid, text))
        }
    }
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_plain_letters_only() {
        for (name, wanted) in [
            ("files", "files__"),
            ("My Files", "My_Files__"),
            ("a.b/c", "a_b_c__"),
            ("café", "caf___"),
            ("x-1_y", "x-1_y__"),
        ] {
            assert_eq!(prefix(name).expect("a name"), wanted, "{name}");
        }
        assert!(prefix("").is_err());
    }

    #[test]
    fn two_prefixes_never_fit_one_name() {
        let check = |name: &str, other: &str| {
            let (prefix, theirs) = (
                prefix(name).expect("a name"),
                prefix(other).expect("a name"),
            );
            let others = [(other, theirs.as_str())];
            check_prefix(name, &prefix, others.into_iter()).is_ok()
        };
        assert!(check("a", "b") && check("a", "ab") && check("a", "a_b"));
        assert!(!check("a", "a") && !check("a b", "a_b"));
        // Both could be meant by "a__b__c" and "a___b".
        assert!(!check("a", "a__b") && !check("a__b", "a") && !check("a", "a_"));
    }
}
