//! The routes, one file for each thing that they are about, and one line each here.

mod audit;
mod policy;
mod reset;
mod state;

use http::Method;

use super::router::{Answer, Call, Route};

/// A route that looks.
const fn get(path: &'static str, run: fn(Call) -> Answer) -> Route {
    Route { method: Method::GET, path, changes: false, run }
}

/// A route that looks, by what its body says: a key may be a secret, and has no place in a URL.
const fn ask(path: &'static str, run: fn(Call) -> Answer) -> Route {
    Route { method: Method::POST, path, changes: false, run }
}

/// A route that changes something.
const fn change(path: &'static str, run: fn(Call) -> Answer) -> Route {
    Route { method: Method::POST, path, changes: true, run }
}

/// Every route there is.
pub(crate) const ROUTES: &[Route] = &[
    ask("/v1/state", |call| Box::pin(state::state(call))),
    change("/v1/reset", |call| Box::pin(reset::reset(call))),
    get("/v1/policy", |call| Box::pin(policy::policy(call))),
    get("/v1/audit", |call| Box::pin(audit::audit(call))),
];
