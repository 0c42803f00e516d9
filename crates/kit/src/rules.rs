//! Switches for single rules of an engine's protocol, so that tests can show that each is needed.

/// The rules of a protocol that are in force: all of them, but in builds with the feature `mutations`, where one may
/// be switched off. `R` names the rules of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Rules<R> {
    #[cfg(feature = "mutations")]
    off: Option<R>,
    #[cfg(not(feature = "mutations"))]
    rules: std::marker::PhantomData<R>,
}

impl<R> Default for Rules<R> {
    fn default() -> Self {
        Self {
            #[cfg(feature = "mutations")]
            off: None,
            #[cfg(not(feature = "mutations"))]
            rules: std::marker::PhantomData,
        }
    }
}

impl<R: Copy + PartialEq> Rules<R> {
    /// All rules but one.
    #[cfg(feature = "mutations")]
    pub fn without(rule: R) -> Self {
        Self { off: Some(rule) }
    }

    /// Whether a rule is in force; always, in a build without the feature.
    #[inline(always)]
    pub fn on(self, rule: R) -> bool {
        #[cfg(feature = "mutations")]
        return self.off != Some(rule);
        #[cfg(not(feature = "mutations"))]
        {
            let _ = (rule, self.rules);
            true
        }
    }

    /// The rule that is switched off.
    #[cfg(feature = "mutations")]
    pub fn off(self) -> Option<R> {
        self.off
    }
}
