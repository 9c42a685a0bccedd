//! The choice of the server for a name.

use std::collections::HashSet;
use std::sync::Arc;

use super::names::{GroupNames, Kind, SEPARATOR};
use super::{Group, Member};
use crate::client::{CallOptions, Client};
use crate::error::{Error, ErrorKind, Excerpt, Result};

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
        let (member, own) = self.find_member(kind, name)?;
        Ok((member.client.clone(), own))
    }

    /// Returns the name of the server for a name, and the own name of the tool, prompt or resource.
    #[cfg(feature = "cffi")]
    pub(crate) fn find_server(&self, kind: Kind, name: &str) -> Result<(Arc<str>, String)> {
        let (member, own) = self.find_member(kind, name)?;
        Ok((Arc::clone(&member.name), own))
    }

    fn find_member(&self, kind: Kind, name: &str) -> Result<(Arc<Member>, String)> {
        let members = self.members();
        if kind != Kind::Resource {
            let prefixed = |member: &Arc<Member>| {
                let own = name.strip_prefix(&member.prefix)?;
                Some((Arc::clone(member), own.to_owned()))
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
            [member] => Ok((Arc::clone(member), name.to_owned())),
            [] if kind == Kind::Resource => {
                let with_resources =
                    |member: &&Arc<Member>| member.client.capabilities().resources.is_some();
                let mut others = members.iter().filter(with_resources);
                match (others.next(), others.next()) {
                    (Some(only), None) => Ok((Arc::clone(only), name.to_owned())),
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
