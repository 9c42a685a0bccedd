//! Skills: folders with instructions for models.
//!
//! The skills are made in code, with their front matter as JSON too. So this program needs no
//! YAML parser. A server with a folder of skills uses `SkillFolder` and the feature `skills`.

use std::time::{SystemTime, UNIX_EPOCH};

use mcplink::schema::JsonObject;
use mcplink::server::ServerBuilder;
use mcplink::server::skills::PublishedSkill;
use serde_json::{Value, json};

/// Adds skills of all kinds. The conformance suite looks at the first one: it has a manifest and a
/// folder.
pub(crate) fn add(server: ServerBuilder) -> ServerBuilder {
    server
        .skill(refunds())
        .skill(exchange())
        .skill(workflow())
        .skill(status())
        .skill(hidden())
}

const REFUNDS: &str = "---
name: refunds
description: >-
  How to pay money back to a customer,
  and how to tell them.
license: Apache-2.0
compatibility: Needs the tools of the billing server
metadata:
  author: acme
  version: \"1.10\"
allowed-tools: get_order refund_order
x-limits:
  amount: 250.5
  currencies: [EUR, KRW, NGN]
  approver: ~
  answer: yes
  since: 2026-07-28
x-Größe: größer
---
# Refunds

Write to the customer as in [the example](examples/email.md). Exchange goods as the skill in
[exchange](exchange/SKILL.md) says.
";

const EXCHANGE: &str = "---
name: exchange
description: How to exchange goods.
---
# Exchanges
";

/// A skill with members of every type, and with another skill in its folder.
fn refunds() -> PublishedSkill {
    let front_matter = json!({
        "name": "refunds",
        "description": "How to pay money back to a customer, and how to tell them.",
        "license": "Apache-2.0",
        "compatibility": "Needs the tools of the billing server",
        "metadata": { "author": "acme", "version": "1.10" },
        "allowed-tools": "get_order refund_order",
        "x-limits": {
            "amount": 250.5,
            "currencies": ["EUR", "KRW", "NGN"],
            "approver": null,
            "answer": "yes",
            "since": "2026-07-28",
        },
        "x-Größe": "größer",
    });
    PublishedSkill::new("acme/billing/refunds")
        .file("SKILL.md", REFUNDS)
        .file("examples/email.md", "Dear customer,\r\nwe pay back …\r\n")
        .file("assets/logo.png", &include_bytes!("pixel.png")[..])
        .file("assets/empty", "")
        .file("exchange/SKILL.md", EXCHANGE)
        .front_matter(object(front_matter))
}

/// The skill in the folder of the other one.
fn exchange() -> PublishedSkill {
    let front_matter = json!({ "name": "exchange", "description": "How to exchange goods." });
    PublishedSkill::new("acme/billing/refunds/exchange")
        .file("SKILL.md", EXCHANGE)
        .front_matter(object(front_matter))
}

fn workflow() -> PublishedSkill {
    let text =
        "---\nname: git-workflow\ndescription: \"How we use git: commits, branches\"\n---\n# Git\n";
    let front_matter = json!({
        "name": "git-workflow",
        "description": "How we use git: commits, branches",
    });
    PublishedSkill::new("git-workflow")
        .file("SKILL.md", text)
        .front_matter(object(front_matter))
}

/// A skill whose content is different each time.
fn status() -> PublishedSkill {
    let text = "---\nname: status\ndescription: What goes on at the moment.\n---\nRead now.txt.\n";
    let front_matter = json!({ "name": "status", "description": "What goes on at the moment." });
    PublishedSkill::new("ops/status")
        .file("SKILL.md", text)
        .dynamic_file("now.txt", |_, _| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let seconds = now.unwrap_or_default().as_secs();
            format!("{seconds} seconds since 1970")
        })
        .front_matter(object(front_matter))
}

/// A skill that is on no list.
fn hidden() -> PublishedSkill {
    let text = "---\nname: rare\ndescription: For those who know its address.\n---\n# Rare\n";
    let front_matter = json!({ "name": "rare", "description": "For those who know its address." });
    PublishedSkill::new("ops/rare")
        .file("SKILL.md", text)
        .front_matter(object(front_matter))
        .unlisted()
}

fn object(value: Value) -> JsonObject {
    value.as_object().cloned().unwrap_or_default()
}
