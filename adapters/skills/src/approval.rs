//! Approvals of skills, which are bound to the content that a user approved.

use mcplink::skills::{Digest, SkillEntry, normalized_uri};
use mcplink::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::listing::{RemoteSkill, SkillId};

/// A user's approval of a skill. A host stores it, for example as JSON.
///
/// An approval covers exactly the skill that the user saw: the label of the server, the URI, and
/// URI, size and digest of each file, together with the front matter. When any of this data
/// changes, the approval no longer [covers](Self::covers) the skill, and the host asks the user
/// again.
///
/// A dynamic skill has no digests, so no approval can be made for it. The approval does not cover
/// skills that are nested in the folder of the approved skill. Each nested skill has its own entry
/// and needs its own approval.
///
/// Spec: Extensions, Skills, "Security Considerations".
///
/// # Examples
///
/// ```
/// use mcplink_skills::{RemoteSkill, SkillApproval};
///
/// # fn f(skill: &RemoteSkill, stored: &str) -> Result<(), Box<dyn std::error::Error>> {
/// let approval: SkillApproval = serde_json::from_str(stored)?;
/// if !approval.covers(skill) {
///     // Ask the user again, and keep the new approval.
///     let approval = SkillApproval::new(skill)?.grant("Read");
///     let stored = serde_json::to_string(&approval)?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillApproval {
    skill: SkillId,
    /// The digest of the front matter as JSON with sorted members.
    front_matter: String,
    /// The approved files, sorted by URI.
    files: Vec<ApprovedFile>,
    grants: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApprovedFile {
    uri: String,
    digest: String,
    size: u64,
}

impl SkillApproval {
    /// Makes the approval of a skill as it is now, without grants.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the skill is dynamic.
    // E-SKILL-C-76
    pub fn new(skill: &RemoteSkill) -> Result<Self> {
        if skill.entry().is_dynamic() {
            let text = format!(
                "the skill {} is dynamic: its content is unknown, so an approval can't be kept",
                skill.id()
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        Ok(Self {
            skill: skill.id().clone(),
            front_matter: front_matter_digest(skill.entry()),
            files: files_of(skill.entry()),
            grants: Vec::new(),
        })
    }

    /// Grants the use of a tool that the front matter names in `allowed-tools`. Only call this when
    /// the user has granted the tool for this skill.
    // E-SKILL-C-67
    pub fn grant(mut self, tool: impl Into<String>) -> Self {
        self.grants.push(tool.into());
        self
    }

    /// Returns the approved skill.
    pub fn skill(&self) -> &SkillId {
        &self.skill
    }

    /// Whether the approval is for this skill, and the skill has not changed since. Always false
    /// for a dynamic skill.
    // E-SKILL-C-73, E-SKILL-C-74, E-SKILL-C-76
    pub fn covers(&self, skill: &RemoteSkill) -> bool {
        let entry = skill.entry();
        !entry.is_dynamic()
            && self.skill == *skill.id()
            && self.front_matter == front_matter_digest(entry)
            && self.files == files_of(entry)
    }

    /// Returns the tools that the user granted to this skill. Empty if the approval does not
    /// [cover](Self::covers) the skill.
    ///
    /// A host must not take the tools from the front matter, which only lists the tools that the
    /// server requests.
    pub fn grants_for(&self, skill: &RemoteSkill) -> &[String] {
        if self.covers(skill) {
            &self.grants
        } else {
            &[]
        }
    }
}

fn files_of(entry: &SkillEntry) -> Vec<ApprovedFile> {
    // The files of an entry are ordered by their normalized URIs.
    let files = entry.files().map(|file| ApprovedFile {
        uri: normalized_uri(&file.uri).expect("the URIs of an entry are valid"),
        digest: file.digest.to_string(),
        size: file.size,
    });
    files.collect()
}

fn front_matter_digest(entry: &SkillEntry) -> String {
    let json = sorted(&Value::Object(entry.front_matter().clone())).to_string();
    Digest::of(json.as_bytes()).to_string()
}

/// Returns a copy in which the members of each object are sorted by name. The result does not
/// depend on the order in which `Value` stores members.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(sorted).collect(),
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort();
            let members = names
                .into_iter()
                .map(|name| (name.clone(), sorted(&members[name])));
            Value::Object(members.collect())
        }
        value => value.clone(),
    }
}
