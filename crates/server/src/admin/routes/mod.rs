//! The routes, one file for each thing that they are about, and one line each here.

mod audit;
mod blocks;
mod explain;
mod grant;
mod nearest;
mod openapi;
mod policy;
mod reload;
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
    change("/v1/grant", |call| Box::pin(grant::grant(call))),
    change("/v1/block", |call| Box::pin(blocks::block(call))),
    change("/v1/unblock", |call| Box::pin(blocks::unblock(call))),
    get("/v1/blocks", |call| Box::pin(blocks::blocks(call))),
    get("/v1/nearest", |call| Box::pin(nearest::nearest(call))),
    ask("/v1/explain", |call| Box::pin(explain::explain(call))),
    get("/v1/policy", |call| Box::pin(policy::policy(call))),
    change("/v1/reload", |call| Box::pin(reload::reload(call))),
    change("/v1/rollback", |call| Box::pin(reload::rollback(call))),
    get("/v1/history", |call| Box::pin(reload::history(call))),
    get("/v1/audit", |call| Box::pin(audit::audit(call))),
    get("/v1/openapi.json", |call| Box::pin(openapi::openapi(call))),
];
