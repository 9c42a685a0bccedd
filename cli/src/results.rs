//! Showing results: text, structured content as tables, and binary content.

use std::io::{self, IsTerminal as _};

use mcplink::schema::{
    CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, ResourceContents, read_json,
};
use serde_json::value::RawValue;

use crate::args::Output;
use crate::failure::{Failure, LOST};
use crate::print::{self, Members};
use crate::save;

type Done = Result<(), Failure>;

/// How results are shown.
pub(crate) struct Shown<'a> {
    pub(crate) json: bool,
    pub(crate) output: &'a Output,
}

impl Shown<'_> {
    /// Prints a result as the server sent it.
    pub(crate) fn raw(&self, result: &str) -> Done {
        let result: Box<RawValue> = serde_json::from_str(result)
            .map_err(|error| Failure::new(LOST, format!("the result is not JSON: {error}")))?;
        Ok(print::json(&result)?)
    }

    /// Shows the result of a tool. A result that is an error makes a failure.
    pub(crate) fn tool(&self, name: &str, result: &CallToolResult) -> Done {
        if self.json {
            print::json(result)?;
            self.save_blocks(name, &result.content, |_| Ok(()))?;
        } else if result.is_error() {
            for block in &result.content {
                print::note(&format!(
                    "mcplink: the tool failed: {}",
                    print::content(block)
                ));
            }
        } else {
            self.tool_content(name, result)?;
        }
        match result.is_error() {
            true => Err(Failure::of_tool()),
            false => Ok(()),
        }
    }

    fn tool_content(&self, name: &str, result: &CallToolResult) -> Done {
        let structured = result.structured_content.as_deref();
        if let Some(structured) = structured {
            let is_same = |block: &ContentBlock| {
                let text = block.as_text().unwrap_or_default();
                is_same_json(text, structured.get())
            };
            // Servers repeat structured content as text, for clients that don't know it.
            let is_repeated = result.content.iter().all(is_same);
            if is_repeated && io::stdout().is_terminal() {
                return show_structured(structured);
            }
            if result.content.is_empty() {
                return Ok(print::line(structured.get())?);
            }
        }
        self.save_blocks(name, &result.content, |block| {
            Ok(print::line(&print::content(block))?)
        })
    }

    /// Saves the binary blocks, and passes the others on.
    fn save_blocks(
        &self,
        name: &str,
        blocks: &[ContentBlock],
        show: impl Fn(&ContentBlock) -> Done,
    ) -> Done {
        let Some(folder) = &self.output.save else {
            return blocks.iter().try_for_each(show);
        };
        for (number, block) in (1..).zip(blocks) {
            let numbered = format!("{name}-{number}");
            let (name, mime_type, bytes) = match block {
                ContentBlock::Image(image) => (&*numbered, Some(&*image.mime_type), image.bytes()),
                ContentBlock::Audio(audio) => (&*numbered, Some(&*audio.mime_type), audio.bytes()),
                ContentBlock::Resource(embedded) => match &embedded.resource {
                    ResourceContents::Blob(blob) => {
                        (&*blob.uri, blob.mime_type.as_deref(), blob.bytes())
                    }
                    _ => {
                        show(block)?;
                        continue;
                    }
                },
                _ => {
                    show(block)?;
                    continue;
                }
            };
            write(folder, name, mime_type, &bytes.map_err(unreadable)?)?;
        }
        Ok(())
    }

    /// Shows the contents of a resource. If standard output is not a terminal, a single binary
    /// resource is written as bytes.
    pub(crate) fn resource(&self, result: &ReadResourceResult) -> Done {
        if self.json {
            print::json(result)?;
        }
        for contents in &result.contents {
            match (&self.output.save, contents) {
                (Some(folder), ResourceContents::Text(text)) => {
                    let mime_type = text.mime_type.as_deref().or(Some("text/plain"));
                    write(folder, &text.uri, mime_type, text.text.as_bytes())?;
                }
                (Some(folder), ResourceContents::Blob(blob)) => {
                    let bytes = blob.bytes().map_err(unreadable)?;
                    write(folder, &blob.uri, blob.mime_type.as_deref(), &bytes)?;
                }
                _ if self.json => {}
                (None, ResourceContents::Blob(blob))
                    if result.contents.len() == 1 && !io::stdout().is_terminal() =>
                {
                    print::bytes(&blob.bytes().map_err(unreadable)?)?;
                }
                (_, ResourceContents::Text(text)) => {
                    print::fresh_line()?;
                    print::text(&text.text)?;
                }
                (_, other) => {
                    print::fresh_line()?;
                    print::line(&print::resource(other))?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn prompt(&self, name: &str, result: &GetPromptResult) -> Done {
        if self.json {
            return Ok(print::json(result)?);
        }
        for message in &result.messages {
            let role = serde_json::to_value(message.role).unwrap_or_default();
            let role = role.as_str().unwrap_or("?");
            let blocks = std::slice::from_ref(&message.content);
            self.save_blocks(name, blocks, |block| {
                Ok(print::line(&format!("{role}: {}", print::content(block)))?)
            })?;
        }
        Ok(())
    }
}

fn unreadable(error: mcplink::Error) -> Failure {
    Failure::new(LOST, error.to_string())
}

fn write(folder: &std::path::Path, name: &str, mime_type: Option<&str>, bytes: &[u8]) -> Done {
    let saved = save::save(folder, name, mime_type, bytes).map_err(|error| {
        let folder = folder.display();
        Failure::usage(format!("--save {folder}: {error}"))
    })?;
    let kind = mime_type.unwrap_or("binary");
    let size = bytes.len();
    print::note(&format!("saved {} ({kind}, {size} bytes)", saved.display()));
    Ok(())
}

fn is_same_json(one: &str, other: &str) -> bool {
    let value = |text| read_json::<serde_json::Value>(text).ok();
    value(one).is_some_and(|one| Some(one) == value(other))
}

/// Shows structured content: objects as tables, anything else as JSON.
fn show_structured(structured: &RawValue) -> Done {
    let Some(mut value) = Shape::of(structured) else {
        return Ok(print::json(&structured)?);
    };
    // An object around the only list is not interesting.
    if let Shape::Object(Members(members)) = &value
        && let [(_, only)] = &**members
        && let Some(Shape::Objects(objects)) = Shape::of(only)
    {
        value = Shape::Objects(objects);
    }
    match value {
        Shape::Object(Members(members)) => {
            let rows = members
                .iter()
                .map(|(key, value)| vec![key.clone(), cell(value)]);
            let rows: Vec<Vec<String>> = rows.collect();
            Ok(print::table(&["NAME", "VALUE"], &rows)?)
        }
        Shape::Objects(objects) => {
            let mut columns: Vec<&str> = Vec::new();
            for (key, _) in objects.iter().flat_map(|object| &object.0) {
                if !columns.contains(&&**key) {
                    columns.push(key);
                }
            }
            let rows = objects.iter().map(|object| {
                let find = |column: &&str| {
                    let member = object.0.iter().find(|(key, _)| key == column);
                    member.map(|(_, value)| cell(value)).unwrap_or_default()
                };
                columns.iter().map(find).collect()
            });
            let rows: Vec<Vec<String>> = rows.collect();
            Ok(print::table(&columns, &rows)?)
        }
    }
}

/// JSON that can be shown as a table.
enum Shape {
    Object(Members),
    Objects(Vec<Members>),
}

impl Shape {
    fn of(json: &RawValue) -> Option<Self> {
        let text = json.get();
        let object = read_json(text).map(Self::Object);
        let shape = object.or_else(|_| read_json(text).map(Self::Objects));
        shape.ok().filter(|shape| match shape {
            Self::Object(Members(members)) => !members.is_empty(),
            Self::Objects(objects) => {
                let has_members = objects.iter().all(|object| !object.0.is_empty());
                !objects.is_empty() && has_members
            }
        })
    }
}

fn cell(value: &RawValue) -> String {
    let text = read_json::<String>(value.get());
    text.unwrap_or_else(|_| value.get().to_owned())
}
