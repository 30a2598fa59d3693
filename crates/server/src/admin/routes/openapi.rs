//! The document that describes all of this.

use bytes::Bytes;

use crate::admin::problem::Problem;
use crate::admin::router::{Call, Reply};

/// The document; `docs/openapi.json` is the same.
const DOCUMENT: &str = include_str!("../openapi.json");

/// The OpenAPI document.
pub(super) async fn openapi(call: Call) -> Result<Reply, Problem> {
    call.only(&[])?;
    Ok(Reply(Bytes::from_static(DOCUMENT.as_bytes())))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::ROUTES;
    use super::DOCUMENT;

    #[test]
    fn the_document_has_every_route_and_no_other() {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap();
        let mut said = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                said.insert((path.as_str(), method.to_uppercase()));
                let route = ROUTES.iter().find(|route| route.path == path).unwrap();
                // What changes something is a POST, which no link makes.
                assert!(!route.changes || method == "post", "{path}");
                assert_eq!(
                    operation["operationId"],
                    path.trim_start_matches("/v1/").trim_end_matches(".json")
                );
            }
        }
        let there: BTreeSet<_> =
            ROUTES.iter().map(|route| (route.path, route.method.as_str().to_owned())).collect();
        assert_eq!(said, there);
    }

    #[test]
    fn the_document_in_docs_is_the_same() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let docs = std::fs::read_to_string(folder.join("../../docs/openapi.json")).unwrap();
        assert!(docs == DOCUMENT, "copy crates/server/src/admin/openapi.json to docs/openapi.json");
    }
}
