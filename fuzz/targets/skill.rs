//! Front matter and manifests of skills.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcplink::schema::Skill;
use mcplink::skills::{
    FrontMatter, FrontMatterParser, SkillEntry, SkillLimits, SkillUri, normalized_uri,
};
use mcplink_fuzz::choice;

fuzz_target!(|data: &[u8]| {
    let (first, data) = choice(data);
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match first % 3 {
        0 => check_front_matter(text),
        1 => check_manifest(text),
        _ => check_uris(text),
    }
});

/// Front matter that was read stays the same when it is written as JSON, which is YAML too.
fn check_front_matter(text: &str) {
    if let Ok(parts) = FrontMatter::split(text) {
        assert!(text.contains(parts.yaml()) && text.ends_with(parts.body()));
        assert!(
            parts
                .yaml()
                .lines()
                .all(|line| line.trim_end_matches([' ', '\t']) != "---")
        );
    }
    let parser = FrontMatterParser::yaml();
    let Ok(read) = parser.parse(text) else {
        return;
    };
    let json = serde_json::to_string(&read).expect("it can be written");
    let again = parser
        .parse(&json)
        .unwrap_or_else(|error| panic!("{json}: {error}"));
    FrontMatter::compare(&read, &again).unwrap_or_else(|error| panic!("{json}: {error}"));
    let _ = FrontMatter::check(&read);
}

/// Each file of an accepted manifest is in the directory of its skill, and within the limits.
fn check_manifest(text: &str) {
    let Ok(skill) = serde_json::from_str::<Skill>(text) else {
        return;
    };
    let limits = SkillLimits::default().max_files(3).max_bytes(1000);
    let Ok(entry) = SkillEntry::new(skill, &limits) else {
        return;
    };
    let mut total = 0;
    for file in entry.files() {
        assert!(entry.uri().contains(&file.uri));
        assert!(entry.file(&file.uri).is_some());
        total += file.size;
    }
    assert_eq!(entry.total_size(), total);
    assert!(entry.files().len() <= 3 && total <= 1000);
}

/// The normal form of a URI is its own normal form. A relative reference keeps the scheme.
fn check_uris(text: &str) {
    let (uri, reference) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(skill) = SkillUri::parse(uri) else {
        return;
    };
    let again = SkillUri::parse(skill.normalized()).expect("the normal form is a URI");
    assert_eq!(again.normalized(), skill.normalized());
    if let Ok(resolved) = skill.resolve(reference) {
        assert_eq!(normalized_uri(&resolved).ok().as_ref(), Some(&resolved));
        let scheme = |uri: &str| uri.split(':').next().map(str::to_owned);
        assert!(reference.contains(':') || scheme(&resolved) == scheme(skill.normalized()));
    }
}
