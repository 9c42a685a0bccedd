//! Approvals, names, and skills of several servers.

use mcplink::ErrorKind;
use mcplink::skills::{SkillEntry, SkillLimits};
use mcplink_skills::{
    KnownSkill, RemoteSkill, SkillApproval, SkillId, SkillListing, SkillRegistry,
};
use serde_json::{Value, json};

use crate::skills;
use crate::skillserver::{MODERN, SkillServer, entry, file};

const A: &str = "skill://a/SKILL.md";

fn remote(label: &str, entry: Value) -> RemoteSkill {
    let skill = serde_json::from_value(entry).unwrap();
    RemoteSkill::new(
        label,
        SkillEntry::new(skill, &SkillLimits::default()).unwrap(),
    )
}

/// The skill `a` with these files beside its `SKILL.md`.
fn with_files(label: &str, files: &[(&str, &[u8])]) -> RemoteSkill {
    let mut lines = vec![file(A, b"own")];
    lines.extend(
        files
            .iter()
            .map(|(path, bytes)| file(&format!("skill://a/{path}"), bytes)),
    );
    remote(label, entry("skill://a", json!(lines)))
}

// E-SKILL-C-08, E-SKILL-C-09, E-SKILL-C-73, E-SKILL-C-74
#[test]
fn an_approval_covers_exactly_what_was_approved() {
    let approved = with_files("s", &[("x", b"1"), ("y", b"2")]);
    let approval = SkillApproval::new(&approved).unwrap();
    let stored = serde_json::to_string(&approval).unwrap();
    let approval: SkillApproval = serde_json::from_str(&stored).unwrap();
    assert_eq!(approval.skill(), &SkillId::new("s", A).unwrap());
    assert!(approval.covers(&approved));
    // The order of the files has no meaning, nor their spelling.
    assert!(approval.covers(&with_files("s", &[("%79", b"2"), ("x", b"1")])));

    let sized = {
        let mut entry = entry(
            "skill://a",
            json!([
                file(A, b"own"),
                file("skill://a/x", b"1"),
                file("skill://a/y", b"2")
            ]),
        );
        entry["resources"][1]["size"] = json!(7);
        remote("s", entry)
    };
    let retitled = {
        let mut entry = entry(
            "skill://a",
            json!([
                file(A, b"own"),
                file("skill://a/x", b"1"),
                file("skill://a/y", b"2")
            ]),
        );
        entry["frontmatter"]["allowed-tools"] = json!("Bash");
        remote("s", entry)
    };
    let moved = remote(
        "s",
        entry(
            "skill://b/a",
            json!([
                file("skill://b/a/SKILL.md", b"own"),
                file("skill://b/a/x", b"1"),
                file("skill://b/a/y", b"2")
            ]),
        ),
    );
    for other in [
        with_files("s", &[("x", b"1"), ("y", b"3")]),
        with_files("s", &[("x", b"1")]),
        with_files("s", &[("x", b"1"), ("y", b"2"), ("z", b"3")]),
        with_files("s", &[("x", b"1"), ("z", b"2")]),
        with_files("s", &[("x", b"2"), ("y", b"1")]),
        with_files("S", &[("x", b"1"), ("y", b"2")]),
        with_files("other", &[("x", b"1"), ("y", b"2")]),
        remote("s", entry("skill://a", json!("dynamic"))),
        sized,
        retitled,
        moved,
    ] {
        assert!(!approval.covers(&other), "{other:?}");
    }
    for forged in [
        "{}",
        "[]",
        r#"{"skill":{"label":"s","uri":"skill://a/SKILL.md"}}"#,
    ] {
        assert!(serde_json::from_str::<SkillApproval>(forged).is_err());
    }
}

// E-SKILL-C-76
#[test]
fn the_approval_of_a_dynamic_skill_can_not_be_kept() {
    let dynamic = remote("s", entry("skill://a", json!("dynamic")));
    let error = SkillApproval::new(&dynamic).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    // Not even one that was written by hand.
    let fixed = remote("s", entry("skill://a", json!([file(A, b"")])));
    let mut stored = serde_json::to_value(SkillApproval::new(&fixed).unwrap()).unwrap();
    stored["files"] = json!([]);
    let forged: SkillApproval = serde_json::from_value(stored).unwrap();
    assert!(!forged.covers(&dynamic));
}

// E-SKILL-C-66, E-SKILL-C-67, E-SKILL-C-68, E-SKILL-C-07
#[test]
fn tools_are_granted_by_the_user_only() {
    let mut wishing = entry(
        "skill://a",
        json!([file(A, b""), file("skill://a/inner/SKILL.md", b"")]),
    );
    wishing["frontmatter"]["allowed-tools"] = json!("Bash Read");
    let outer = remote("s", wishing.clone());
    let inner = remote(
        "s",
        entry(
            "skill://a/inner",
            json!([file("skill://a/inner/SKILL.md", b"")]),
        ),
    );
    let approval = SkillApproval::new(&outer).unwrap();
    assert!(approval.grants_for(&outer).is_empty());
    let approval = approval.grant("Read");
    assert_eq!(approval.grants_for(&outer), ["Read"]);
    assert!(!approval.covers(&inner) && approval.grants_for(&inner).is_empty());
    wishing["frontmatter"]["allowed-tools"] = json!("Bash Read Write");
    assert!(approval.grants_for(&remote("s", wishing)).is_empty());
}

fn listing(label: &str, directories: &[&str]) -> SkillListing {
    let (client, server) = SkillServer::connect(MODERN, json!({}));
    server.set(|tables| {
        for directory in directories {
            let own = file(&format!("{directory}/SKILL.md"), b"");
            tables.list(entry(directory, json!([own])));
        }
    });
    skills(&client, label).list().unwrap()
}

fn resolved<'a>(registry: &'a SkillRegistry, name: &str) -> Option<&'a SkillId> {
    match registry.resolve(name) {
        Ok(KnownSkill::Remote(skill)) => Some(skill.id()),
        Ok(other) => panic!("{name}: {other:?}"),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            None
        }
    }
}

// E-SKILL-C-12, E-SKILL-C-14, E-SKILL-C-15, E-SKILL-C-63, E-SKILL-C-65, E-SKILL-C-70
#[test]
fn names_are_told_apart_by_the_label_of_the_host() {
    let mut registry = SkillRegistry::new();
    let one = listing("one", &["skill://a", "skill://b"]);
    let two = listing("two", &["skill://a"]);
    registry.set(&one);
    let known = resolved(&registry, "one/b").cloned().unwrap();
    assert!(registry.collisions().is_empty());
    // A bare name is never that of a server's skill, however few there are.
    assert!(resolved(&registry, "b").is_none());
    registry.set(&two);
    assert_eq!(resolved(&registry, "one/b"), Some(&known));
    assert_eq!(
        resolved(&registry, "one/a"),
        Some(&SkillId::new("one", A).unwrap())
    );
    assert_eq!(
        resolved(&registry, "two/a"),
        Some(&SkillId::new("two", A).unwrap())
    );
    let error = registry.resolve("a").unwrap_err().to_string();
    assert!(
        error.contains("'one/a'") && error.contains("'two/a'"),
        "{error}"
    );
    for unknown in ["x", "one/x", "three/a", "one", "one/", "/a", "two/b"] {
        assert!(resolved(&registry, unknown).is_none(), "{unknown}");
    }
    registry.add_own("a");
    assert_eq!(registry.resolve("a").unwrap(), KnownSkill::Own("a"));
    assert_eq!(registry.find("a").len(), 3);
    assert_eq!(registry.find("a")[0], KnownSkill::Own("a"));
    let collisions = registry.collisions();
    assert_eq!(collisions.len(), 1);
    assert_eq!(collisions[0].name, "a");
    assert_eq!(collisions[0].qualified, ["a", "one/a", "two/a"]);
    // A server can't take the name of another server's skill, nor that of the host.
    registry.set(&listing("one/a", &["skill://x/a"]));
    assert_eq!(registry.resolve("a").unwrap(), KnownSkill::Own("a"));
    assert_eq!(
        resolved(&registry, "one/a"),
        Some(&SkillId::new("one", A).unwrap())
    );
    registry.remove("one");
    assert!(resolved(&registry, "one/a").is_none());
    registry.remove_own("a");
    assert!(resolved(&registry, "a").is_none());
    assert_eq!(two.skills[0].display_name(), "a (two)");
    registry.add(&one.skills[1]);
    registry.add(&one.skills[1]);
    assert_eq!(registry.remote().count(), 3);
}

// E-SKILL-C-13
#[test]
fn skills_of_one_name_and_one_server_are_told_apart() {
    let directories = [
        "skill://acme/billing/a",
        "skill://acme/support/a",
        "skill://a",
        "x://acme/support/a",
    ];
    let mut names: Vec<Vec<String>> = Vec::new();
    for order in [[0, 1, 2, 3], [3, 2, 1, 0]] {
        let listing = listing("s", &order.map(|index| directories[index]));
        let mut registry = SkillRegistry::new();
        registry.set(&listing);
        assert_eq!(listing.find("a").len(), 4);
        let of = |directory: &str| {
            let skill = listing.by_uri(&format!("{directory}/SKILL.md")).unwrap();
            let name = registry.qualified_name(skill);
            assert_eq!(resolved(&registry, &name), Some(skill.id()), "{name}");
            name
        };
        names.push(directories.iter().map(|directory| of(directory)).collect());
        assert!(resolved(&registry, "s/a").is_none());
        assert!(resolved(&registry, "s/acme/support/a").is_none());
    }
    assert_eq!(names[0], names[1]);
    assert_eq!(
        names[0],
        [
            "s/acme/billing/a",
            "s/skill://acme/support/a/SKILL.md",
            "s/skill://a/SKILL.md",
            "s/x://acme/support/a/SKILL.md"
        ]
    );
}

// E-SKILL-C-08, E-SKILL-C-09, E-SKILL-C-61, E-SKILL-C-62, E-SKILL-C-64
#[test]
fn two_servers_with_one_uri_stay_two() {
    // Both servers give themselves the name "raw".
    let (one, first) = SkillServer::connect(MODERN, json!({}));
    let (two, second) = SkillServer::connect(MODERN, json!({}));
    let files = |text: &'static str| [("x", text.as_bytes())];
    first.set(|tables| tables.publish("skill://a", &files("one")));
    second.set(|tables| {
        tables.publish("skill://a", &files("two"));
        tables.put("skill://b/secret", b"secret");
    });
    assert_eq!(
        one.server_info().unwrap().name,
        two.server_info().unwrap().name
    );
    let (one, two) = (skills(&one, "one"), skills(&two, "two"));
    let (a, b) = (one.get(A).unwrap(), two.get(A).unwrap());
    assert_ne!(a.id(), b.id());
    // The skill of one server is not loaded from the other.
    for error in [
        one.load(&b).unwrap_err(),
        two.load(&a).unwrap_err(),
        two.preview(&a).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("'one'"), "{error}");
    }
    let (loaded, other) = (one.load(&a).unwrap(), two.load(&b).unwrap());
    second.asked();
    assert_eq!(loaded.read("x").unwrap().bytes(), b"one");
    assert!(loaded.read("skill://b/secret").is_err());
    assert!(second.asked().is_empty());
    assert_eq!(other.read("x").unwrap().bytes(), b"two");
    // While both are loaded, each server has its own.
    assert_eq!(one.active(), [a.id().clone()]);
    assert_eq!(two.active(), [b.id().clone()]);
    assert!(!SkillApproval::new(&a).unwrap().covers(&b));
}
