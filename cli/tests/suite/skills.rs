//! The action `skills`, against a correct server and hostile ones.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::failures::{Folder, run};

/// Returns the paths of all files and links in a folder, in order.
fn files(folder: &Path) -> Vec<String> {
    fn collect(root: &Path, folder: &Path, files: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                collect(root, &entry.path(), files);
            } else {
                let path: PathBuf = entry.path().strip_prefix(root).unwrap().to_owned();
                files.push(path.display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    collect(folder, folder, &mut found);
    found.sort();
    found
}

fn shows(folder: &Folder, line: &str) -> String {
    let (code, out, err) = run(folder, line);
    assert_eq!((code, &*err), (0, ""), "{line}");
    out
}

fn fails(folder: &Folder, line: &str, code: i32, said: &str) {
    let (found, out, err) = run(folder, line);
    assert_eq!((found, &*out), (code, ""), "{line}: {err}");
    assert!(err.contains(said), "{line}: {err}");
}

#[test]
fn skills_are_listed_and_shown() {
    let folder = Folder::new("skills-list");
    let list = "NAME  FILES  URI                        DESCRIPTION\n\
                pay   2      skill://acme/pay/SKILL.md  How to pay.\n";
    assert_eq!(shows(&folder, "skills -- SKILLS none"), list);
    assert_eq!(shows(&folder, "skills list -- SKILLS none"), list);
    let json: Value =
        serde_json::from_str(&shows(&folder, "skills --json -- SKILLS none")).unwrap();
    assert_eq!(json["skills"][0]["uri"], "skill://acme/pay/SKILL.md");
    assert_eq!(json["invalid"], json!([]));
    let shown = "pay\n  How to pay.\n\nskill://acme/pay/SKILL.md\n\n\
                 FILE           SIZE\n\
                 SKILL.md       49 bytes\n\
                 forms/FORM.md  8 bytes\n\n\
                 ---\nname: pay\ndescription: How to pay.\n---\n# Pay\n";
    assert_eq!(shows(&folder, "skills show pay -- SKILLS none"), shown);
    let line = "skills show skill://acme/pay/SKILL.md -- SKILLS none";
    assert_eq!(shows(&folder, line), shown);
    let out = shows(&folder, "skills show pay --json -- SKILLS none");
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["skill"]["frontmatter"]["name"], "pay");
    assert!(json["content"].as_str().unwrap().ends_with("# Pay\n"));
    // Both eras, and skills of a server that is made with the library.
    for era in ["legacy", "modern"] {
        let out = shows(&folder, &format!("skills --era {era} -- SERVER"));
        assert!(
            out.contains("skill://acme/billing/refunds/SKILL.md"),
            "{out}"
        );
    }
    fails(
        &folder,
        "skills show rob -- SKILLS none",
        3,
        "lists no skill 'rob'",
    );
    let several = "several skills 'pay', so use a URI: skill://acme/pay/SKILL.md, \
                   skill://other/pay/SKILL.md";
    fails(&folder, "skills show pay -- SKILLS two", 3, several);
    fails(&folder, "skills show -- SKILLS none", 2, "<NAME>");
    fails(
        &folder,
        "skills -- BAD none",
        3,
        "did not declare the extension",
    );
}

#[test]
fn a_skill_is_fetched_and_nothing_replaced_without_being_asked() {
    let folder = Folder::new("skills-fetch");
    let fetch = "skills fetch pay --to out -- SKILLS none";
    assert_eq!(shows(&folder, fetch), "out/pay: 2 files, 57 bytes\n");
    let out = folder.0.join("out");
    assert_eq!(
        files(&folder.0),
        ["out/pay/SKILL.md", "out/pay/forms/FORM.md"]
    );
    let form = out.join("pay/forms/FORM.md");
    assert_eq!(fs::read_to_string(&form).unwrap(), "the form");
    let mode = fs::metadata(&form).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0, "no file is executable");
    // The user has changed a file: it stays, unless the user says otherwise.
    fs::write(&form, "mine").unwrap();
    fs::write(out.join("pay/notes"), "mine").unwrap();
    fails(
        &folder,
        fetch,
        2,
        "out/pay exists: --replace replaces its files",
    );
    assert_eq!(fs::read_to_string(&form).unwrap(), "mine");
    shows(
        &folder,
        "skills fetch pay --replace --to out -- SKILLS none",
    );
    assert_eq!(fs::read_to_string(&form).unwrap(), "the form");
    assert_eq!(fs::read_to_string(out.join("pay/notes")).unwrap(), "mine");
    assert_eq!(files(&out).len(), 3, "nothing else is left behind");
    // A link in the place of a folder is not followed.
    let elsewhere = Folder::new("skills-elsewhere");
    fs::remove_dir_all(out.join("pay/forms")).unwrap();
    symlink(&elsewhere.0, out.join("pay/forms")).unwrap();
    fs::write(out.join("pay/SKILL.md"), "mine, too").unwrap();
    let replace = "skills fetch pay --replace --to out -- SKILLS none";
    fails(&folder, replace, 2, "out/pay/forms is not a folder");
    let kept = fs::read_to_string(out.join("pay/SKILL.md")).unwrap();
    assert_eq!(kept, "mine, too", "no file is replaced when one can't be");
    fs::remove_dir_all(out.join("pay")).unwrap();
    symlink(&elsewhere.0, out.join("pay")).unwrap();
    fails(&folder, fetch, 2, "exists");
    fails(&folder, replace, 2, "is not a folder");
    assert_eq!(files(&elsewhere.0), [""; 0]);
    // A whole skill with binary and empty files, and another skill inside.
    shows(&folder, "skills fetch refunds --to every -- SERVER");
    let found = files(&folder.0.join("every/refunds"));
    assert!(found.contains(&"exchange/SKILL.md".to_owned()), "{found:?}");
    let verified = shows(&folder, "skills verify every/refunds -- SERVER");
    assert!(
        verified.lines().all(|line| line.ends_with(": ok")),
        "{verified}"
    );
    fails(
        &folder,
        "skills fetch pay -- SKILLS none",
        2,
        "fetch takes --to FOLDER",
    );
    fails(
        &folder,
        "skills list --to x -- SKILLS none",
        2,
        "--to is for",
    );
}

#[test]
fn a_hostile_server_writes_nothing() {
    let folder = Folder::new("skills-hostile");
    for (fault, code, said) in [
        ("digest", 4, "has the digest"),
        ("size", 4, "has 17 bytes, the manifest says 8"),
        ("gone", 3, "-32002"),
        ("path", 3, "can't be used: the entry of skill"),
        ("encoded~path", 3, "encoded slash"),
        ("absolute~path", 3, "is not in the directory of the skill"),
        ("huge", 3, "more than SkillLimits::max_bytes (16777216)"),
        ("dynamic", 3, "is dynamic"),
        ("front~matter", 4, "description"),
        ("clash", 2, "out/.pay."),
    ] {
        let line = format!("skills fetch pay --to out -- SKILLS {fault}");
        fails(&folder, &line, code, said);
        // The parent folder alone may have been made.
        assert_eq!(files(&folder.0), [""; 0], "{fault}");
        if folder.0.join("out").exists() {
            assert_eq!(
                fs::read_dir(folder.0.join("out")).unwrap().count(),
                0,
                "{fault}"
            );
        }
    }
    // The list names what is not used.
    let (code, out, err) = run(&folder, "skills -- SKILLS path");
    assert_eq!((code, out.lines().count()), (0, 1), "{err}");
    assert!(err.contains("not used") && err.contains("stolen"), "{err}");
}

#[test]
fn a_skill_is_verified_at_the_server_and_in_a_folder() {
    let folder = Folder::new("skills-verify");
    let good = "SKILL.md: ok\nforms/FORM.md: ok\n";
    assert_eq!(shows(&folder, "skills verify pay -- SKILLS none"), good);
    let (code, out, err) = run(&folder, "skills verify pay -- SKILLS digest");
    assert_eq!(code, 1, "{err}");
    assert!(out.starts_with("SKILL.md: ok\nforms/FORM.md: "), "{out}");
    assert!(out.contains("has the digest"), "{out}");
    assert!(err.contains("1 of 2 files of the skill differ"), "{err}");
    let (code, out, _) = run(&folder, "skills verify pay --json -- SKILLS gone");
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &json["files"][0]["ok"], &json["files"][1]["ok"]),
        (1, &json!(true), &json!(false))
    );
    shows(&folder, "skills fetch pay --to . -- SKILLS none");
    assert_eq!(shows(&folder, "skills verify ./pay -- SKILLS none"), good);
    assert_eq!(shows(&folder, "skills verify pay/ -- SKILLS none"), good);
    // The skill of the server has changed.
    let (code, out, _) = run(&folder, "skills verify ./pay -- SKILLS front~matter");
    assert!(
        code == 1 && out.contains("SKILL.md: ") && out.contains("description"),
        "{out}"
    );
    // Changes in the folder: a file, a link in the place of a file, one more file.
    let form = folder.0.join("pay/forms/FORM.md");
    folder.write("pay/more", "x");
    fs::write(&form, "THE FORM").unwrap();
    let (code, out, _) = run(&folder, "skills verify ./pay -- SKILLS none");
    assert_eq!(code, 1);
    assert!(
        out.contains("forms/FORM.md: its digest is sha256:"),
        "{out}"
    );
    assert!(out.contains("more: not a file of the skill"), "{out}");
    fs::remove_file(&form).unwrap();
    symlink("/dev/zero", &form).unwrap();
    let (code, out, _) = run(&folder, "skills verify ./pay -- SKILLS none");
    assert!(
        code == 1 && out.contains("FORM.md: not a plain file"),
        "{out}"
    );
    fs::remove_file(&form).unwrap();
    let (code, out, _) = run(&folder, "skills verify ./pay -- SKILLS none");
    assert!(code == 1 && out.contains("FORM.md: missing"), "{out}");
    fails(
        &folder,
        "skills verify ./none -- SKILLS none",
        2,
        "./none/SKILL.md",
    );
    fails(
        &folder,
        "skills verify pay -- SKILLS dynamic",
        3,
        "is dynamic",
    );
}
