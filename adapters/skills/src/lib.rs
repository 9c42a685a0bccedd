//! Skills of MCP servers, as a host uses them: listed, verified, approved and cached.
//!
//! A skill is a folder of instructions for a model, which a server publishes as resources. The text
//! of a skill becomes part of the model's context. So a skill is more dangerous than a tool: it
//! tells the model what to do with all tools that it has.
//!
//! ```text
//!  Skills::list, Skills::get ──▶ RemoteSkill: label of the server and checked entry
//!        │ the user looks (Skills::preview) and approves (SkillApproval)
//!        ▼
//!  Skills::load ──▶ LoadedSkill: SKILL.md was read and verified; the entry is held
//!        │ the model follows references
//!        ▼
//!  LoadedSkill::read ──▶ SkillContent: verified against the held entry, with its origin
//! ```
//!
//! **Identity.** A skill is known by the label of its server *and* its URI: see [`SkillId`]. The
//! label is the name that the host gave the server. It is never the name that the server gives
//! itself.
//!
//! **Lazy.** Listing sends only `skills/list`. Loading reads only `SKILL.md`. Each other file is
//! read when it is needed. A [`SkillCache`] keeps the files that were read.
//!
//! **Verified, not trusted.** Size, digest and front matter are compared with the entry. A match
//! shows that the content is *consistent* with the entry that a user approved. Entry and content
//! come from the same server, so a match is no reason to trust the server.
//!
//! **Duties of the host.** This crate never runs anything and writes no executable file.
//! Everything in a skill is untrusted data: its text, its front matter, its scripts.
//! `allowed-tools` has no effect unless the user granted it: see [`SkillApproval::grant`].
//!
//! **The cache on Windows.** A [`SkillCache`] has the same properties as on Unix. In place of modes
//! there are access control lists: those of its folders and files name the user and the system, and
//! inherit nothing. The system and administrators can use every file in any case.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `yaml` | yes | a parser for the YAML front matter of skills (feature `skills` of `mcplink`) |
//!
//! Spec: Extensions, "Skills" (2026-07-28; also used with older revisions).
#![forbid(unsafe_code)]

mod approval;
mod cache;
mod content;
mod excerpt;
mod host;
mod listing;
mod loaded;
mod reader;
mod registry;

pub use self::approval::SkillApproval;
pub use self::cache::SkillCache;
pub use self::content::SkillContent;
pub use self::host::Skills;
pub use self::listing::{InvalidSkill, RemoteSkill, SkillId, SkillListing};
pub use self::loaded::{LoadedSkill, SkillDirectory, SkillFolder};
pub use self::registry::{KnownSkill, SkillCollision, SkillRegistry};

/// Runs the examples of the README as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
