//! The schema says what the decoder does. The decoder's errors name the fields, the words and the ranges that it knows, so
//! every value of every good policy is spoiled in turn, and what the error says is compared with the schema there.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::support::{callers_schema, document, files, good_policies, parts, policy_schema, validator};
use crate::ConfigErrors;
use crate::problem::Problem;

/// A value in a document, and where it is.
#[derive(Debug, Clone)]
struct Place {
    /// As in a JSON pointer.
    pointer: String,
    /// As errors say it.
    path: String,
    value: Value,
}

/// Every place of the document, with the parts of the schema that speak of it.
fn places<'s>(schema: &'s Value, document: &Value) -> Vec<(Place, Vec<&'s Value>)> {
    let mut all = Vec::new();
    let root = Place { pointer: String::new(), path: String::new(), value: document.clone() };
    let mut open = vec![(root, vec![schema])];
    while let Some((place, nodes)) = open.pop() {
        let speak: Vec<&Value> = nodes.iter().flat_map(|node| parts(schema, node, &place.value)).collect();
        match &place.value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let inner = |part: &&'s Value| {
                        let free = part.get("additionalProperties").filter(|free| free.is_object());
                        part["properties"].get(name).or(free)
                    };
                    let pointer = format!("{}/{}", place.pointer, name.replace('~', "~0").replace('/', "~1"));
                    let path = match place.path.as_str() {
                        "" => name.clone(),
                        path => format!("{path}.{name}"),
                    };
                    let place = Place { pointer, path, value: value.clone() };
                    open.push((place, speak.iter().filter_map(inner).collect()));
                }
            }
            Value::Array(items) => {
                for (i, value) in items.iter().enumerate() {
                    let pointer = format!("{}/{i}", place.pointer);
                    let place = Place { pointer, path: format!("{}[{i}]", place.path), value: value.clone() };
                    open.push((place, speak.iter().filter_map(|part| part.get("items")).collect()));
                }
            }
            _ => {}
        }
        all.push((place, speak));
    }
    all
}

/// The names that the schema allows in an object.
fn fields(parts: &[&Value]) -> Option<BTreeSet<String>> {
    let mut fields: Option<BTreeSet<String>> = None;
    for properties in parts.iter().filter_map(|part| part["properties"].as_object()) {
        fields.get_or_insert_default().extend(properties.keys().cloned());
    }
    let mut fields = fields?;
    for names in parts.iter().filter_map(|part| part["propertyNames"]["enum"].as_array()) {
        fields.retain(|field| names.iter().any(|name| name == field));
    }
    Some(fields)
}

/// The parts of `schema` that have `keyword` and speak of values by themselves.
fn all_with<'s>(schema: &'s Value, keyword: &str) -> Vec<&'s Value> {
    let conditions = ["if", "then", "else", "not", "propertyNames", "examples", "default", "required"];
    match schema {
        Value::Object(map) => {
            let inner = map.iter().filter(|(name, _)| !conditions.contains(&name.as_str()));
            let inner = inner.flat_map(|(_, inner)| all_with(inner, keyword));
            let own = map.contains_key(keyword).then_some(schema);
            own.into_iter().chain(inner).collect()
        }
        Value::Array(items) => items.iter().flat_map(|item| all_with(item, keyword)).collect(),
        _ => Vec::new(),
    }
}

/// What the decoder says of a document.
type Decode = dyn Fn(&Value) -> Option<ConfigErrors>;

fn decode_policy(name: String) -> Box<Decode> {
    Box::new(move |document| crate::parse(&name, &document.to_string()).err())
}

/// A policy with plans whose file of callers is the document.
fn decode_callers(document: &Value) -> Option<ConfigErrors> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("callers.yaml"), document.to_string()).unwrap();
    let policy = json!({
        "callers": "callers.yaml",
        "plans": { "free": { "requests": "1/s" }, "premium": { "requests": "1/s" }, "internal": { "requests": "1/s" } },
        "plan": { "from": "callers", "default": "free" },
        "rules": [{ "name": "all", "key": "ip", "limit": "1/s" }],
    });
    let name = folder.path().join("cupo.yaml");
    crate::parse(name.to_str().unwrap(), &policy.to_string()).err()
}

fn find<'e, T>(
    errors: &'e Option<ConfigErrors>,
    wanted: impl Fn(&'e str, &'e Problem) -> Option<T>,
) -> Option<T> {
    errors.iter().flatten().find_map(|error| wanted(error.path(), error.problem()))
}

struct Subject {
    schema: Value,
    documents: Vec<(String, Value, Box<Decode>)>,
}

fn subjects() -> [Subject; 2] {
    let policies = good_policies().into_iter().map(|path| {
        let name = path.to_str().unwrap().to_owned();
        (name.clone(), document(&path).unwrap(), decode_policy(name))
    });
    let callers =
        files("../../examples").into_iter().filter(|path| path.ends_with("callers.yaml")).map(|path| {
            let decode: Box<Decode> = Box::new(decode_callers);
            (path.to_str().unwrap().to_owned(), document(&path).unwrap(), decode)
        });
    [
        Subject { schema: policy_schema(), documents: policies.collect() },
        Subject { schema: callers_schema(), documents: callers.collect() },
    ]
}

/// Which part of the schema it is.
fn id(part: &Value) -> usize {
    std::ptr::from_ref(part).addr()
}

const JUNK: &str = "zz-unknown";

/// The document with another value at the place.
fn with(document: &Value, place: &Place, value: Value) -> Value {
    let mut document = document.clone();
    *document.pointer_mut(&place.pointer).unwrap() = value;
    document
}

#[test]
fn the_fields_of_every_map_are_those_of_the_decoder() {
    for Subject { schema, documents } in subjects() {
        let mut compared = BTreeSet::new();
        for (name, document, decode) in &documents {
            for (place, parts) in places(&schema, document) {
                let Some(mut object) = place.value.as_object().cloned() else { continue };
                object.insert(JUNK.to_owned(), json!("x"));
                let errors = decode(&with(document, &place, object.into()));
                let allowed = find(&errors, |_, problem| match problem {
                    Problem::UnknownField { name, allowed } if **name == *JUNK => Some(*allowed),
                    _ => None,
                });
                let Some(allowed) = allowed else { continue };
                let at = format!("{name} at {}", place.path);
                let of_schema = fields(&parts).unwrap_or_else(|| panic!("{at}: the schema knows no fields"));
                let of_decoder: BTreeSet<String> = allowed.iter().map(|&field| field.to_owned()).collect();
                assert_eq!(of_schema, of_decoder, "schema and decoder, {at}");
                for part in parts.iter().filter(|part| part.get("properties").is_some()) {
                    compared.insert(id(part));
                }
            }
        }
        for part in
            all_with(&schema, "properties").iter().filter(|part| part["additionalProperties"] == false)
        {
            assert!(compared.contains(&id(part)), "no good policy has these fields: {part:#}");
        }
    }
}

#[test]
fn the_words_of_every_field_are_those_of_the_decoder() {
    for Subject { schema, documents } in subjects() {
        let mut compared = BTreeSet::new();
        for (name, document, decode) in &documents {
            for (place, parts) in places(&schema, document) {
                if !place.value.is_string() || parts.iter().all(|part| part.get("enum").is_none()) {
                    continue;
                }
                let errors = decode(&with(document, &place, json!(JUNK)));
                let allowed = find(&errors, |_, problem| match problem {
                    Problem::UnknownWord { text, allowed, .. } if **text == *JUNK => Some(allowed),
                    _ => None,
                });
                let Some(allowed) = allowed else { continue };
                let same = parts.iter().find(|part| part["enum"] == json!(allowed));
                let same =
                    same.unwrap_or_else(|| panic!("{name} at {}: {allowed:?}, {parts:#?}", place.path));
                compared.insert(id(same));
            }
        }
        // A word beside another form, which the decoder does not name.
        let beside = [json!(["unlimited"]), json!(["unix"]), json!(["none"])];
        for part in all_with(&schema, "enum").iter().filter(|part| !beside.contains(&part["enum"])) {
            assert!(compared.contains(&id(part)), "no good policy has one of {part:#}");
        }
    }
}

#[test]
fn the_ranges_of_every_number_are_those_of_the_decoder() {
    for Subject { schema, documents } in subjects() {
        let mut compared = BTreeSet::new();
        for (name, document, decode) in &documents {
            for (place, parts) in places(&schema, document) {
                if parts.iter().all(|part| part.get("maximum").is_none()) {
                    continue;
                }
                let errors = decode(&with(document, &place, json!(99_999_999_999_999_999_u64)));
                let range = find(&errors, |path, problem| match problem {
                    Problem::OutOfRange { min, max, .. } if path == place.path => Some((*min, *max)),
                    _ => None,
                });
                let Some((min, max)) = range else { continue };
                let bound = |name| parts.iter().filter_map(move |part| part[name].as_u64());
                let at = format!("{name} at {}", place.path);
                assert_eq!(bound("maximum").min(), Some(max), "{at}");
                assert!(bound("minimum").max() >= Some(min), "{at}");
                compared.extend(parts.iter().map(|part| id(part)));
            }
        }
        for part in all_with(&schema, "maximum").iter().filter(|part| part["maximum"] != 777) {
            assert!(compared.contains(&id(part)), "no good policy has {part:#}");
        }
    }
}

/// What an editor offers is right: examples and defaults are valid, and the decoder takes them.
#[test]
fn every_example_and_default_is_good() {
    for Subject { schema, documents } in subjects() {
        let validator = validator(&schema);
        let mut tried = 0;
        for (name, document, decode) in &documents {
            assert!(validator.is_valid(document), "{name}: {:?}", validator.iter_errors(document).next());
            for (place, parts) in places(&schema, document) {
                let of = |part: &&Value| {
                    let examples = part["examples"].as_array().cloned().unwrap_or_default();
                    examples.into_iter().chain(part.get("default").cloned())
                };
                for example in
                    parts.iter().flat_map(of).filter(|example| !example.to_string().contains("NAME"))
                {
                    tried += 1;
                    let document = with(document, &place, example.clone());
                    let errors = decode(&document);
                    let wrong = find(&errors, |path, problem| {
                        (path.starts_with(&place.path) && !is_of_the_world(problem)).then_some(problem)
                    });
                    assert!(wrong.is_none(), "{name} at {}: {example}: {wrong:?}", place.path);
                    let told = validator
                        .iter_errors(&document)
                        .find(|error| error.instance_path().as_str().starts_with(&place.pointer));
                    assert!(told.is_none(), "{name} at {}: {example}: {told:?}", place.path);
                }
            }
        }
        assert!(tried > 5, "only {tried} examples");
    }
}

/// Whether the problem is with files, the environment, or what other fields say, and not with the form.
const fn is_of_the_world(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::Callers { .. }
            | Problem::NoSecret(_)
            | Problem::Policy(_)
            | Problem::Limit(_)
            | Problem::Conflict { .. }
            | Problem::Idle { .. }
            | Problem::NoMessages(_)
            | Problem::SecretAlgorithm
            | Problem::HeaderTwice(_)
            | Problem::OwnPathTwice(_)
            | Problem::PlanWithoutTokens
            | Problem::PlanWithoutCallers
            | Problem::PlanWithoutProxies
    )
}

#[test]
fn every_kind_of_key_and_every_store_url_is_known() {
    let schema = policy_schema();
    let Err(error) = cupo_core::KeySpec::parse(&["zz"]) else { panic!("no such kind") };
    let cupo_core::KeySpecError::Unknown { forms, .. } = &error else { panic!("{error}") };
    let of_core: BTreeSet<&str> = forms.split(", ").collect();
    let part = &schema["$defs"]["keyPart"];
    let of_schema: BTreeSet<&str> =
        part["examples"].as_array().unwrap().iter().map(|form| form.as_str().unwrap()).collect();
    assert_eq!(of_schema, of_core);
    let keys = validator(part);
    for form in of_core {
        let key = form.replace("NAME", "x-Team_1.a");
        assert!(keys.is_valid(&json!(key)) && cupo_core::KeySpec::parse(&[&key]).is_ok(), "{key}");
        assert!(keys.is_valid(&json!(format!("api_key|{key}"))), "{key}");
        assert!(!keys.is_valid(&json!(format!("{form}x"))), "{form}");
    }
    let urls = validator(&schema["$defs"]["redis"]["properties"]["url"]);
    for scheme in crate::decode::SCHEMES {
        for scheme in [scheme.to_string(), scheme.replace("redis", "valkey")] {
            assert!(urls.is_valid(&json!(format!("{scheme}h"))), "{scheme}");
        }
    }
    assert!(!urls.is_valid(&json!("http://h")));
}
