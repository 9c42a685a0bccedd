//! Skills: the rules for their names, URIs, manifests and front matter.
//!
//! A skill is a folder with a file `SKILL.md`. A server publishes the skill as an *entry*
//! ([`Skill`](crate::schema::Skill)): the front matter of `SKILL.md`, and a *manifest* with size
//! and digest of each file. This module has the rules that servers and clients share. It does no
//! I/O and starts no threads.
//!
//! ```text
//!  Skill (as received) ──▶ SkillEntry::new ──▶ names, URIs, digests and limits are right
//!  SKILL.md ──▶ FrontMatter::split ──▶ YAML ──▶ FrontMatterParser ──▶ FrontMatter::compare
//! ```
//!
//! A digest that fits shows that content and entry are *consistent*. It does not show that the
//! content can be *trusted*: digest and content come from the same server.
//!
//! The feature `skills` adds the YAML parser. Without it a host passes front matter as JSON, or its
//! own parser.
//!
//! Spec: Extensions, "Skills" (2026-07-28; also used with older revisions); Agent Skills
//! specification.

mod digest;
mod entry;
mod front_matter;
mod name;
mod uri;
#[cfg(feature = "skills")]
mod yaml;

pub use self::digest::{Digest, DigestWriter};
pub use self::entry::{SkillEntry, SkillFile, SkillLimits};
pub use self::front_matter::{FrontMatter, FrontMatterParser};
pub use self::name::check_name;
pub use self::uri::{SKILL_FILE, SkillUri, normalized_uri};
