//! `cupo schema`.

use crate::process::{root, run};

fn schema(arguments: &[&str]) -> serde_json::Value {
    let ran = run(&[&["schema"], arguments].concat(), "");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn schemas_of_both_files_are_printed() {
    let policy = schema(&[]);
    assert_eq!(policy["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(policy["properties"]["rules"].is_object() && policy["additionalProperties"] == false);
    let callers = schema(&["--callers"]);
    assert_eq!(callers["$schema"], policy["$schema"]);
    assert!(callers["properties"]["callers"].is_object() && callers["properties"].get("rules").is_none());
}

#[test]
fn a_schema_is_written_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cupo.schema.json");
    let ran = run(&["schema", "--output", file.to_str().unwrap()], "");
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "", ""));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), run(&["schema"], "").out);
    let nowhere = folder.path().join("nowhere/x.json");
    let ran = run(&["schema", "-o", nowhere.to_str().unwrap()], "");
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""));
    assert!(ran.err.contains("cannot be written"), "{}", ran.err);
}

/// What the reference says of each field the schema has, and the other way round.
#[test]
fn every_field_of_the_file_is_in_the_reference() {
    let reference = std::fs::read_to_string(root().join("docs/policy.md")).unwrap();
    for field in schema(&[])["properties"].as_object().unwrap().keys() {
        assert!(reference.contains(&format!("`{field}`")), "docs/policy.md says nothing of `{field}`");
    }
}
