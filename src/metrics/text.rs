//! Metrics as Prometheus reads them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use prometheus::proto::MetricFamily;
use prometheus::{Encoder, TextEncoder};

use super::observed;
use super::table::Metrics;

impl Metrics {
    /// The metrics of all clusters in Prometheus' text format.
    pub fn render<'a>(clusters: impl Iterator<Item = &'a Self>) -> String {
        let mut all: BTreeMap<String, MetricFamily> = BTreeMap::new();
        for family in clusters.flat_map(Self::gather) {
            match all.entry(family.name().to_owned()) {
                Entry::Vacant(place) => {
                    place.insert(family);
                }
                // One family has one head.
                Entry::Occupied(mut place) => {
                    place.get_mut().mut_metric().extend(family.get_metric().iter().cloned());
                }
            }
        }
        let all: Vec<_> = all.into_values().collect();
        let mut out = Vec::new();
        // Writing to memory cannot fail; an encoder error leaves what was written.
        let _ = TextEncoder::new().encode(&all, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn gather(&self) -> Vec<MetricFamily> {
        let mut all = self.registry.gather();
        all.retain(|family| self.observed.is_none() || observed::shows(family.name()));
        all
    }
}
