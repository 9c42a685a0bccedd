//! The reader and the writer of JSON in the C interface, against `serde_json`.
#![no_main]

use std::ffi::{c_char, c_int};
use std::ptr;

use libfuzzer_sys::fuzz_target;
use mcplink as _;
use serde_json::Value;

#[repr(C)]
#[derive(Clone, Copy)]
struct Text {
    data: *const c_char,
    len: usize,
}

// As `include/mcplink.h` declares them.
unsafe extern "C" {
    fn mcplink_json_parse(
        text: *const c_char,
        len: usize,
        out: *mut *mut u8,
        err: *mut *mut u8,
    ) -> c_int;
    fn mcplink_json_free(document: *mut u8);
    fn mcplink_json_type_of(node: *const u8) -> c_int;
    fn mcplink_json_at(array: *const u8, index: usize) -> *const u8;
    fn mcplink_json_key_at(object: *const u8, index: usize) -> Text;
    fn mcplink_json_len(node: *const u8) -> usize;
    fn mcplink_json_str(node: *const u8) -> Text;
    fn mcplink_json_i64(node: *const u8, out: *mut i64) -> bool;
    fn mcplink_json_f64(node: *const u8) -> f64;
    fn mcplink_json_boolean(node: *const u8) -> bool;
    fn mcplink_json_text(node: *const u8) -> Text;
}

// The same for the writer.
unsafe extern "C" {
    fn mcplink_writer_new() -> *mut u8;
    fn mcplink_writer_free(writer: *mut u8);
    fn mcplink_writer_reset(writer: *mut u8) -> c_int;
    fn mcplink_writer_begin_object(writer: *mut u8) -> c_int;
    fn mcplink_writer_begin_array(writer: *mut u8) -> c_int;
    fn mcplink_writer_end(writer: *mut u8) -> c_int;
    fn mcplink_writer_key(writer: *mut u8, key: *const c_char) -> c_int;
    fn mcplink_writer_str(writer: *mut u8, text: *const c_char, len: usize) -> c_int;
    fn mcplink_writer_i64(writer: *mut u8, number: i64) -> c_int;
    fn mcplink_writer_f64(writer: *mut u8, number: f64) -> c_int;
    fn mcplink_writer_boolean(writer: *mut u8, boolean: bool) -> c_int;
    fn mcplink_writer_null(writer: *mut u8) -> c_int;
    fn mcplink_writer_raw(writer: *mut u8, json: *const c_char, len: usize) -> c_int;
    fn mcplink_writer_finish(writer: *mut u8, out: *mut Text, err: *mut *mut u8) -> c_int;
}

fuzz_target!(|data: &[u8]| {
    let expected = serde_json::from_slice::<Value>(data).ok();
    let mut document = ptr::null_mut();
    // SAFETY: the text has its length, and the document can be written to.
    let status = unsafe {
        mcplink_json_parse(
            data.as_ptr().cast(),
            data.len(),
            &mut document,
            ptr::null_mut(),
        )
    };
    assert_eq!(status == 0, expected.is_some());
    // SAFETY: `document` is a document of the library or NULL, and is freed once.
    unsafe {
        if let Some(expected) = &expected {
            check_read(document, expected);
        }
        mcplink_json_free(document);
    }
    check_steps(data);
    if let Some(expected) = &expected {
        check_written(expected, data);
    }
});

/// Returns the bytes of a text, which a NUL follows.
///
/// # Safety
///
/// The text is one of the library, and still valid.
unsafe fn bytes<'a>(text: Text) -> &'a [u8] {
    // SAFETY: the caller promises it.
    let text = unsafe { std::slice::from_raw_parts(text.data.cast::<u8>(), text.len + 1) };
    let (end, text) = text.split_last().expect("a text has an end");
    assert_eq!(*end, 0);
    text
}

/// # Safety
///
/// The node is one of the library.
unsafe fn check_read(node: *const u8, expected: &Value) {
    // SAFETY: the caller promises it. Each function takes any node.
    unsafe {
        assert_eq!(read(node), *expected);
        let text: Value = serde_json::from_slice(bytes(mcplink_json_text(node))).expect("JSON");
        assert_eq!(text, *expected);
    }
}

/// # Safety
///
/// The node is one of the library.
unsafe fn read(node: *const u8) -> Value {
    // SAFETY: the caller promises it. Each function takes any node.
    unsafe {
        let text = |text: Text| String::from_utf8(bytes(text).to_vec()).expect("UTF-8");
        let items = || 0..mcplink_json_len(node);
        match mcplink_json_type_of(node) {
            801 => Value::Null,
            802 => mcplink_json_boolean(node).into(),
            803 => {
                let own: Value =
                    serde_json::from_str(&text(mcplink_json_text(node))).expect("a number");
                assert_eq!(own.as_f64(), Some(mcplink_json_f64(node)));
                let mut integer = 0;
                if let Some(number) = own.as_i64() {
                    assert!(mcplink_json_i64(node, &mut integer) && integer == number);
                }
                own
            }
            804 => text(mcplink_json_str(node)).into(),
            805 => items().map(|at| read(mcplink_json_at(node, at))).collect(),
            806 => {
                let member = |at| {
                    (
                        text(mcplink_json_key_at(node, at)),
                        read(mcplink_json_at(node, at)),
                    )
                };
                Value::Object(items().map(member).collect())
            }
            other => panic!("a node of type {other}"),
        }
    }
}

/// A value that is written, in parts or as it is, stays the same.
fn check_written(value: &Value, raw: &[u8]) {
    // SAFETY: the writer is one of the library, and is freed once.
    unsafe {
        let writer = mcplink_writer_new();
        write(writer, value);
        assert_eq!(finish(writer).as_ref(), Some(value));
        assert_eq!(mcplink_writer_reset(writer), 0);
        assert_eq!(
            mcplink_writer_raw(writer, raw.as_ptr().cast(), raw.len()),
            0
        );
        assert_eq!(finish(writer).as_ref(), Some(value));
        mcplink_writer_free(writer);
    }
}

/// # Safety
///
/// The writer is one of the library.
unsafe fn write(writer: *mut u8, value: &Value) {
    // SAFETY: the caller promises it, and the texts have their lengths or ends.
    let status = unsafe {
        match value {
            Value::Null => mcplink_writer_null(writer),
            Value::Bool(value) => mcplink_writer_boolean(writer, *value),
            Value::String(text) => mcplink_writer_str(writer, text.as_ptr().cast(), text.len()),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => mcplink_writer_i64(writer, number),
                (None, None) => mcplink_writer_f64(writer, number.as_f64().expect("a double")),
                _ => {
                    let text = number.to_string();
                    mcplink_writer_raw(writer, text.as_ptr().cast(), text.len())
                }
            },
            Value::Array(items) => {
                assert_eq!(mcplink_writer_begin_array(writer), 0);
                items.iter().for_each(|item| write(writer, item));
                mcplink_writer_end(writer)
            }
            Value::Object(members) if members.keys().any(|key| key.contains('\0')) => {
                // A key that ends in NUL can't have another one.
                let text = value.to_string();
                mcplink_writer_raw(writer, text.as_ptr().cast(), text.len())
            }
            Value::Object(members) => {
                assert_eq!(mcplink_writer_begin_object(writer), 0);
                for (key, value) in members {
                    let key = std::ffi::CString::new(&**key).expect("a key without NUL");
                    assert_eq!(mcplink_writer_key(writer, key.as_ptr()), 0);
                    write(writer, value);
                }
                mcplink_writer_end(writer)
            }
        }
    };
    assert_eq!(status, 0);
}

/// # Safety
///
/// The writer is one of the library.
unsafe fn finish(writer: *mut u8) -> Option<Value> {
    let mut text = Text {
        data: ptr::null(),
        len: 0,
    };
    // SAFETY: the caller promises it, and the text can be written to.
    unsafe {
        let status = mcplink_writer_finish(writer, &mut text, ptr::null_mut());
        (status == 0).then(|| serde_json::from_slice(bytes(text)).expect("what is written is JSON"))
    }
}

/// Steps in any order end in JSON or in an error.
fn check_steps(data: &[u8]) {
    // SAFETY: the writer is one of the library and is freed once; texts have lengths or ends.
    unsafe {
        let writer = mcplink_writer_new();
        for step in data.chunks(4).take(64) {
            let text = step.as_ptr().cast();
            let _ = match step[0] % 9 {
                0 | 1 => mcplink_writer_begin_object(writer),
                2 => mcplink_writer_begin_array(writer),
                3 | 4 => mcplink_writer_end(writer),
                5 | 6 => mcplink_writer_key(writer, c"key".as_ptr()),
                7 => mcplink_writer_str(writer, text, step.len()),
                _ => mcplink_writer_raw(writer, text, step.len()),
            };
        }
        finish(writer);
        mcplink_writer_free(writer);
    }
}
