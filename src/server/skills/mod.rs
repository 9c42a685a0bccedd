//! Skills that a server publishes: folders with instructions for models, served as resources.
//!
//! A skill has a file `SKILL.md` and any further files. A server publishes its *entry*: the front
//! matter of `SKILL.md`, and a *manifest* with the size and digest of each file. [`SkillFolder`]
//! publishes the skills of a folder. [`PublishedSkill`] is a skill that is made in code.
//!
//! ```text
//!  SkillFolder ────▶ scan ──╮
//!                           ├─▶ checked skills ──▶ Snapshot ──▶ skills/list, skills/get,
//!  PublishedSkill ─▶ build ─╯      (or skipped)                 resources/read,
//!                                                               resources/directory/read
//! ```
//!
//! **Changes.** All requests about skills are answered from one snapshot, which a change replaces
//! as a whole. So an entry and the bytes that it describes always belong together. The files of a
//! folder are read when a client requests them. If the bytes of a file no longer match its entry,
//! the request fails and all folders are scanned again. [`Server::reload_skills`](super::Server)
//! also scans all folders.
//!
//! **Threads.** Folders are scanned on the thread that builds the server or reloads the skills. The
//! library starts no thread for skills, and does not watch folders.
//!
//! Spec: Extensions, "Skills" (2026-07-28; also sent to clients of older revisions).

mod api;
mod bounded_read;
mod build;
mod files;
mod folder;
mod media_type;
mod methods;
mod options;
mod publish;
mod published;
mod scan;
mod snapshot;
pub(super) mod store;

pub use self::folder::SkillFolder;
pub use self::options::{SkillChanges, SkillOptions, SkippedSkill};
pub use self::published::PublishedSkill;
