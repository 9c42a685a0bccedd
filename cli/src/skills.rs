//! The action `skills`: listing, showing, saving and verifying the skills of the server.
//!
//! A skill comes from a server, so nothing in it is trusted: each file is compared with the size
//! and the digest in the entry of the skill, and only plain files below the given folder are
//! written.

use std::path::{Path, PathBuf};

use mcplink::ErrorKind;
use mcplink::skills::{SKILL_FILE, normalized_uri};
use mcplink_skills::{LoadedSkill, RemoteSkill, SkillContent, SkillListing, Skills};
use serde_json::json;

use crate::actions::Session;
use crate::args::{SkillAction, SkillRequest};
use crate::failure::{Failure, REFUSED, TOOL_FAILED};
use crate::{local_skill, print};

type Done = Result<(), Failure>;

/// Runs the action `skills`.
pub(crate) fn run(session: &Session, request: &SkillRequest) -> Done {
    // The label is for texts: a session has one server.
    let label = session.options().place.server.as_deref();
    let actions = SkillActions {
        skills: Skills::new(session.client(), label.unwrap_or("the server")),
        session,
        json: session.options().json,
    };
    let name = request.name.as_deref().unwrap_or_default();
    match (request.what, &request.to) {
        (SkillAction::Fetch, Some(folder)) => actions.fetch(name, folder, request.replace),
        (SkillAction::Fetch, None) => {
            let failure = Failure::usage("fetch takes --to FOLDER".to_owned());
            Err(failure.with_help("mcplink skills --help"))
        }
        (_, Some(_)) => Err(Failure::usage("--to is for 'skills fetch'".to_owned())),
        _ if request.replace => Err(Failure::usage("--replace is for 'skills fetch'".to_owned())),
        (SkillAction::List, _) => actions.list(),
        (SkillAction::Show, _) => actions.show(name),
        (SkillAction::Verify, _) => actions.verify(name),
    }
}

struct SkillActions<'a> {
    skills: Skills,
    session: &'a Session,
    json: bool,
}

/// The result of a file's verification.
pub(crate) struct Verified {
    pub(crate) path: String,
    /// The difference, if there is one.
    pub(crate) fault: Option<String>,
}

impl SkillActions<'_> {
    fn listing(&self) -> Result<SkillListing, Failure> {
        Ok(self.skills.list_with(self.session.patience())?)
    }

    fn list(&self) -> Done {
        let listing = self.listing()?;
        if self.json {
            let skills = listing.skills.iter().map(|skill| skill.entry().skill());
            let invalid = listing.invalid.iter().map(
                |invalid| json!({ "uri": invalid.uri, "error": format!("{:#}", invalid.error) }),
            );
            let skills: Vec<_> = skills.collect();
            let invalid: Vec<_> = invalid.collect();
            return Ok(print::json(
                &json!({ "skills": skills, "invalid": invalid }),
            )?);
        }
        let rows = listing.skills.iter().map(|skill| {
            let entry = skill.entry();
            let files = match entry.is_dynamic() {
                true => "dynamic".to_owned(),
                false => entry.files().len().to_string(),
            };
            vec![
                skill.name().to_owned(),
                files,
                entry.uri().to_string(),
                entry.description().to_owned(),
            ]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        print::table(&["NAME", "FILES", "URI", "DESCRIPTION"], &rows)?;
        for invalid in &listing.invalid {
            print::note(&format!("mcplink: not used: {:#}", invalid.error));
        }
        Ok(())
    }

    /// Finds a skill by its name in the list, or by its URI, listed or not.
    fn find(&self, name: &str) -> Result<RemoteSkill, Failure> {
        if normalized_uri(name).is_ok() {
            return Ok(self.skills.get_with(name, self.session.patience())?);
        }
        let listing = self.listing()?;
        let named: Vec<&RemoteSkill> = listing.find(name);
        if let [only] = named[..] {
            return Ok(only.clone());
        }
        let ending = format!("/{name}/{SKILL_FILE}");
        let has_name = |uri: &String| uri.ends_with(&ending);
        let mut invalid = listing.invalid.iter();
        let invalid = invalid.find(|it| it.uri.as_ref().is_some_and(has_name));
        let text = match (invalid, named.is_empty()) {
            (_, false) => {
                let uris = named.iter().map(|skill| skill.entry().uri().as_str());
                let uris: Vec<&str> = uris.collect();
                format!(
                    "the server has several skills '{name}', so use a URI: {}",
                    uris.join(", ")
                )
            }
            (Some(invalid), true) => {
                format!("the skill '{name}' can't be used: {:#}", invalid.error)
            }
            (None, true) => format!(
                "the server lists no skill '{name}': 'skills' lists them, and a URI names one that \
                 is not listed"
            ),
        };
        Err(Failure::new(REFUSED, text))
    }

    fn show(&self, name: &str) -> Done {
        let skill = self.find(name)?;
        let entry = skill.entry();
        // A dynamic skill can be looked at: only its content can't be verified.
        let skills = self.skills.clone().allow_dynamic(true);
        let uri = entry.uri().as_str();
        let content = skills.preview_file_with(&skill, uri, self.session.patience())?;
        if self.json {
            let text = content.as_text();
            return Ok(print::json(
                &json!({ "skill": entry.skill(), "content": text }),
            )?);
        }
        print::line(skill.name())?;
        print::line(&format!("  {}\n", entry.description().trim()))?;
        print::line(&format!("{}\n", entry.uri()))?;
        if entry.is_dynamic() {
            print::line("The skill is dynamic: its files can't be verified.\n")?;
        } else {
            let rows = entry
                .files()
                .map(|file| vec![file.path.clone(), format!("{} bytes", file.size)]);
            print::table(&["FILE", "SIZE"], &rows.collect::<Vec<_>>())?;
            print::line("")?;
        }
        let text = String::from_utf8_lossy(content.bytes());
        Ok(print::text(&(text.trim_end().to_owned() + "\n"))?)
    }

    /// Loads a skill, whose front matter is verified.
    fn load(&self, skill: &RemoteSkill) -> Result<LoadedSkill, Failure> {
        if skill.entry().is_dynamic() {
            return Err(no_digests(skill));
        }
        let options = self.session.patience();
        Ok(self.skills.load_with(skill, options)?)
    }

    /// Reads all files before one is written, so that a fault leaves nothing behind.
    fn fetch(&self, name: &str, to: &Path, replace: bool) -> Done {
        let skill = self.find(name)?;
        let target = local_skill::target(to, skill.name(), replace)?;
        let loaded = self.load(&skill)?;
        let mut files: Vec<(PathBuf, SkillContent)> = Vec::new();
        for file in skill.entry().files() {
            let path = local_skill::safe_path(&file.path)?;
            let content = loaded.read_with(&file.uri, self.session.patience())?;
            files.push((path, content));
        }
        local_skill::write(&target, &files)?;
        let bytes: usize = files.iter().map(|(_, file)| file.bytes().len()).sum();
        if self.json {
            let paths: Vec<_> = skill.entry().files().map(|file| &file.path).collect();
            return Ok(print::json(
                &json!({ "folder": target.folder(), "files": paths, "bytes": bytes }),
            )?);
        }
        Ok(print::line(&format!(
            "{}: {} files, {bytes} bytes",
            target.folder().display(),
            files.len()
        ))?)
    }

    /// Compares the files of the server, or those in a folder, with the entry of the skill.
    fn verify(&self, name: &str) -> Done {
        if normalized_uri(name).is_ok() || !(name.contains('/') || name == ".") {
            let skill = self.find(name)?;
            let loaded = self.load(&skill)?;
            return self.report(&skill, &self.verify_remote(&loaded)?);
        }
        let folder = Path::new(name);
        let skill = self.find(&local_skill::name(folder)?)?;
        if skill.entry().is_dynamic() {
            return Err(no_digests(&skill));
        }
        self.report(&skill, &local_skill::verify(folder, skill.entry())?)
    }

    fn verify_remote(&self, loaded: &LoadedSkill) -> Result<Vec<Verified>, Failure> {
        let mut verified = Vec::new();
        for file in loaded.skill().entry().files() {
            let read = loaded.read_with(&file.uri, self.session.patience());
            let fault = match read {
                Ok(_) => None,
                // The server has changed the file, or does not give it.
                Err(error) if error.skill_fault().is_some() || error.kind() == ErrorKind::Peer => {
                    Some(format!("{error:#}"))
                }
                Err(error) => return Err(error.into()),
            };
            let path = file.path.clone();
            verified.push(Verified { path, fault });
        }
        Ok(verified)
    }

    fn report(&self, skill: &RemoteSkill, verified: &[Verified]) -> Done {
        let entry = skill.entry();
        let faults = verified.iter().filter(|file| file.fault.is_some()).count();
        if self.json {
            let files = verified.iter().map(|file| {
                let ok = file.fault.is_none();
                json!({ "path": file.path, "ok": ok, "fault": file.fault })
            });
            let files: Vec<_> = files.collect();
            print::json(&json!({ "uri": entry.uri().as_str(), "files": files }))?;
        } else {
            for file in verified {
                let result = file.fault.as_deref().unwrap_or("ok");
                print::line(&format!("{}: {result}", file.path))?;
            }
        }
        match faults {
            0 => Ok(()),
            _ => Err(Failure::new(
                TOOL_FAILED,
                format!("{faults} of {} files of the skill differ", verified.len()),
            )),
        }
    }
}

fn no_digests(skill: &RemoteSkill) -> Failure {
    let text = format!(
        "the skill '{}' is dynamic: the server sends no digests, so its files can't be verified",
        skill.name()
    );
    Failure::new(REFUSED, text)
}
