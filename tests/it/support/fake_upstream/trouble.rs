//! An upstream that says something else from now on, and does not say that it does.

use super::Upstream;
use crate::support::script::Behaviour;

impl Upstream {
    /// Describes a tool, prompt, resource or template that it offers otherwise from now on, and says nothing about it.
    pub async fn describe_silently(&self, key: &str, definition: &str) {
        self.change(|script| {
            let lists = [
                &mut script.tools,
                &mut script.prompts,
                &mut script.resources,
                &mut script.templates,
            ];
            let mut all = lists.into_iter().flatten();
            let offer = all.find(|offer| offer.key == key);
            definition.clone_into(&mut offer.expect("it is offered").definition);
        })
        .await;
    }

    /// Answers a method like this from now on, and says nothing about it.
    pub async fn answer(&self, method: &str, behaviour: Behaviour) {
        self.change(|script| {
            script.answers.insert(method.to_owned(), behaviour);
        })
        .await;
    }
}
