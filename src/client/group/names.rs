//! The names of tools and prompts in a group, and the choice of the server for a name.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Group, Member};
use crate::client::{CallOptions, Client};
use crate::error::{Error, ErrorKind, Excerpt, Result};

/// The text between the name of a server and the own name of its tool.
const SEPARATOR: &str = "__";

/// The rule for the names of tools and prompts in a [`Group`].
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
    /// A name without a prefix means the only server that has it. If another server gets the same
    /// name, a call with the name fails: the call is never sent to a server by chance.
    PrefixedOnClash,
}

/// What a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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
    fn of(&mut self, kind: Kind) -> &mut Option<HashSet<String>> {
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

/// Returns an error if a name could have the prefix of a new server and that of another one.
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

impl Member {
    pub(super) fn note(&self, kind: Kind, names: HashSet<String>) {
        *self.listed.lock().of(kind) = Some(names);
    }

    fn has(&self, kind: Kind, name: &str) -> bool {
        let mut listed = self.listed.lock();
        let names = listed.of(kind).as_ref();
        names.is_some_and(|names| names.contains(name))
    }

    fn prefixed(&self, own: &str) -> String {
        format!("{}{own}", self.prefix)
    }
}

impl Group {
    /// Returns the name in the group of an item that this member has listed.
    pub(super) fn name_of(
        &self,
        members: &[Arc<Member>],
        member: &Member,
        kind: Kind,
        own: &str,
    ) -> String {
        if kind == Kind::Resource {
            return own.to_owned();
        }
        let is_unique = || {
            let owners = members.iter().filter(|other| other.has(kind, own));
            let looks_prefixed = members.iter().any(|other| own.starts_with(&other.prefix));
            owners.count() <= 1 && !looks_prefixed
        };
        match self.0.names {
            GroupNames::PrefixedOnClash if is_unique() => own.to_owned(),
            GroupNames::Prefixed | GroupNames::PrefixedOnClash => member.prefixed(own),
        }
    }

    /// Returns the client for a name, and the own name of the tool, prompt or resource.
    pub(super) fn find(&self, kind: Kind, name: &str) -> Result<(Client, String)> {
        let members = self.members();
        if kind != Kind::Resource {
            let prefixed = |member: &Arc<Member>| {
                let own = name.strip_prefix(&member.prefix)?;
                Some((member.client.clone(), own.to_owned()))
            };
            if let Some(found) = members.iter().find_map(prefixed) {
                return Ok(found);
            }
            if self.0.names == GroupNames::Prefixed {
                return Err(self.unknown(kind, name));
            }
        }
        let owners = || -> Vec<_> {
            let owners = members.iter().filter(|member| member.has(kind, name));
            owners.collect()
        };
        let mut found = owners();
        if found.is_empty() {
            self.read_names(kind);
            found = owners();
        }
        match found.as_slice() {
            [member] => Ok((member.client.clone(), name.to_owned())),
            [] if kind == Kind::Resource => {
                let with_resources =
                    |member: &&Arc<Member>| member.client.capabilities().resources.is_some();
                let mut others = members.iter().filter(with_resources);
                match (others.next(), others.next()) {
                    (Some(only), None) => Ok((only.client.clone(), name.to_owned())),
                    _ => Err(self.unknown(kind, name)),
                }
            }
            [] => Err(self.unknown(kind, name)),
            several => Err(ambiguous(kind, name, several)),
        }
    }

    /// Lists the items of a kind, so that their names are known.
    fn read_names(&self, kind: Kind) {
        match kind {
            Kind::Tool => drop(self.list_tools_with(CallOptions::new())),
            Kind::Prompt => drop(self.list_prompts_with(CallOptions::new())),
            Kind::Resource => drop(self.list_resources_with(CallOptions::new())),
        }
    }

    fn unknown(&self, kind: Kind, name: &str) -> Error {
        let (what, name) = (kind.word(), Excerpt(name));
        let servers = self.servers().join("', '");
        let text = match self.0.names {
            _ if kind == Kind::Resource => {
                format!("no server of the group lists {what} '{name}': the servers are '{servers}'")
            }
            GroupNames::Prefixed => format!(
                "no server of the group has {what} '{name}': a name is SERVER{SEPARATOR}NAME, the servers are '{servers}'"
            ),
            GroupNames::PrefixedOnClash => {
                format!("no server of the group has {what} '{name}': the servers are '{servers}'")
            }
        };
        Error::new(ErrorKind::Invalid, text)
    }
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
        }
    }
}

fn ambiguous(kind: Kind, name: &str, members: &[&Arc<Member>]) -> Error {
    let what = kind.word();
    let text = if kind == Kind::Resource {
        let servers = members.iter().map(|member| &*member.name);
        let servers = servers.collect::<Vec<_>>().join("', '");
        format!(
            "several servers list {what} '{}': '{servers}'",
            Excerpt(name)
        )
    } else {
        let names = members.iter().map(|member| member.prefixed(name));
        let names = names.collect::<Vec<_>>().join("', '");
        format!(
            "several servers have {what} '{}': use one of '{names}'",
            Excerpt(name)
        )
    };
    Error::new(ErrorKind::Invalid, text)
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
