//! What the table of metrics becomes: a struct with a field for each, and the function that registers them.

macro_rules! metrics {
    ($(
        $vis:vis $field:ident: $kind:ty = $make:ident($name:literal, $help:literal $(, $more:expr)?);
    )*) => {
        /// All metrics of a cluster.
        #[derive(Debug)]
        pub struct Metrics {
            pub(super) registry: Registry,
            /// Present if the proxy observes.
            pub observed: Option<Observed>,
            /// Present if the configuration names locks.
            pub named: Option<NamedLocks>,
            $(#[doc = $help] $vis $field: $kind,)*
        }

        impl Metrics {
            fn register(r: &Registry) -> Result<Self, prometheus::Error> {
                Ok(Self {
                    registry: r.clone(),
                    observed: None,
                    named: None,
                    $($field: $make(r, $name, $help $(, $more)?)?,)*
                })
            }
        }
    };
}
