//! Documents as editors see them, and the parts of a schema that speak of a value.

use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::{CALLERS_SCHEMA, POLICY_SCHEMA};
use crate::fault::Faults;
use crate::reader;
use crate::tree::{Content, Node};

pub(super) fn policy_schema() -> Value {
    serde_json::from_str(POLICY_SCHEMA).unwrap()
}

pub(super) fn callers_schema() -> Value {
    serde_json::from_str(CALLERS_SCHEMA).unwrap()
}

pub(super) fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::new(schema).unwrap()
}

/// Files of a folder that end in `.yaml`, in the order of their names.
pub(super) fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files
}

/// Every policy that is known to be good.
pub(super) fn good_policies() -> Vec<PathBuf> {
    let is_policy = |path: &PathBuf| path.file_name().unwrap() != "callers.yaml";
    let examples = files("../../examples").into_iter().filter(is_policy);
    files("tests/good").into_iter().chain(examples).collect()
}

/// The file as an editor sees it; `None` where it is no YAML of ours.
pub(super) fn document(path: &Path) -> Option<Value> {
    let source = crate::file::read(path, crate::MAX_FILE_BYTES).ok()?;
    let faults = Faults::default();
    let root = reader::read(source.text(), &faults)?;
    faults.into_inner().is_empty().then(|| value(&root))
}

/// By the core schema of YAML 1.2, which is what editors go by.
fn value(node: &Node) -> Value {
    match &node.content {
        Content::Nothing | Content::Faulty => Value::Null,
        Content::Text { text, quoted: true } => text.as_str().into(),
        Content::Text { text, quoted: false } => plain(text),
        Content::List(items) => items.iter().map(value).collect(),
        Content::Map(entries) => {
            let field = |entry: &crate::tree::Entry| (entry.name.clone(), value(&entry.value));
            Value::Object(entries.iter().map(field).collect::<Map<_, _>>())
        }
    }
}

fn plain(text: &str) -> Value {
    match text {
        "true" | "True" | "TRUE" => return true.into(),
        "false" | "False" | "FALSE" => return false.into(),
        _ => {}
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        let digits = text.strip_prefix(prefix);
        if let Some(number) = digits.and_then(|digits| u64::from_str_radix(digits, radix).ok()) {
            return number.into();
        }
    }
    if let Ok(number) = text.parse::<i64>() {
        return number.into();
    }
    let sign = |b: u8| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E');
    match text.parse::<f64>() {
        Ok(number) if text.bytes().all(sign) => number.into(),
        _ => text.into(),
    }
}

/// The parts of `schema` that speak of `instance`, which stands where `node` applies.
pub(super) fn parts<'s>(schema: &'s Value, node: &'s Value, instance: &Value) -> Vec<&'s Value> {
    let mut all = vec![node];
    if let Some(name) = node["$ref"].as_str() {
        let target = schema.pointer(name.strip_prefix('#').unwrap()).unwrap();
        all.extend(parts(schema, target, instance));
    }
    for keyword in ["anyOf", "oneOf"] {
        for branch in node[keyword].as_array().into_iter().flatten() {
            let branch = parts(schema, branch, instance);
            if branch.iter().any(|part| is_for(part, instance)) {
                all.extend(branch);
            }
        }
    }
    for inner in node["allOf"].as_array().into_iter().flatten() {
        all.extend(parts(schema, inner, instance));
    }
    if let Some(condition) = node.get("if") {
        let holds = jsonschema::draft202012::is_valid(condition, instance);
        let then = node.get(if holds { "then" } else { "else" });
        all.extend(then.into_iter().flat_map(|then| parts(schema, then, instance)));
    }
    all
}

/// Whether a branch is for values of this type.
fn is_for(part: &Value, instance: &Value) -> bool {
    let is_type = |name: &str| match instance {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(_) => matches!(name, "number" | "integer"),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    };
    match &part["type"] {
        Value::String(name) => is_type(name),
        Value::Array(names) => names.iter().any(|name| is_type(name.as_str().unwrap())),
        _ => instance.is_string() && part.get("enum").is_some(),
    }
}
