//! What would become of a request that nobody has sent.

use std::sync::Arc;

use cupo_core::{Clock, Observer, Store, normalise};
use cupo_http::{BadQuestion, ExplainedRequest, Question};
use http::Method;

use crate::answers::{Bundle, ReloadHandle};
use crate::decide::{attributes, identify};
use crate::status;

impl<S: Store, C: Clock, O: Observer> ReloadHandle<S, C, O> {
    /// What the layer would do with this request now, and why. Charges nothing and creates no key.
    ///
    /// # Errors
    /// [`BadQuestion`] where there can be no such request.
    pub async fn explain(&self, question: &Question) -> Result<ExplainedRequest, BadQuestion> {
        let (head, peer) = (question.head()?, question.peer()?);
        let bundle = Bundle::now(&self.engine, &self.current);
        let identity = identify(&bundle.answers, &head, self.engine.clock().now());
        let attributes = attributes(&bundle, &head, peer, Some(question.body_bytes), &identity);
        let explanation = self.engine.explain_under(Arc::clone(&bundle.in_force), &attributes).await;
        let explained = ExplainedRequest::new(&explanation, &attributes, &bundle.answers.presentation);
        // The status endpoint refuses whoever is blocked, as any request of theirs is.
        let is_blocked = matches!(head.method, Method::GET | Method::HEAD)
            && bundle.in_force.policy().blocks_caller(&attributes);
        let health = bundle.answers.health_path.as_deref();
        Ok(if health.is_some_and(|own| normalise(head.uri.path()) == own) {
            explained.of_health()
        } else if status::is_asked(&bundle.answers, &head) && !is_blocked {
            explained.of_status()
        } else {
            explained
        })
    }
}
