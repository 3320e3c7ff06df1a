//! What was measured, and quantiles of it.

use lockstead_support::Flavour;

/// One figure of one round.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) section: &'static str,
    pub(crate) flavour: Flavour,
    /// Clients, threads, sessions or held locks.
    pub(crate) clients: usize,
    pub(crate) variant: &'static str,
    pub(crate) metric: &'static str,
    pub(crate) value: f64,
}

/// All of them, in the order in which they were measured.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<Sample>);

impl Samples {
    pub(crate) fn add(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    pub(crate) fn all(&self) -> &[Sample] {
        &self.0
    }

    /// Those of each section and flavour.
    pub(crate) fn groups(&self) -> Vec<Group<'_>> {
        let names = distinct(self.0.iter().map(|s| (s.section, s.flavour)));
        names.into_iter().map(|(section, flavour)| self.group(section, flavour)).collect()
    }

    pub(crate) fn group(&self, section: &'static str, flavour: Flavour) -> Group<'_> {
        let of_it = |s: &&Sample| s.section == section && s.flavour == flavour;
        Group { section, flavour, samples: self.0.iter().filter(of_it).collect() }
    }
}

/// Without repetitions, in the order of the first.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut out, one| {
        if !out.contains(&one) {
            out.push(one);
        }
        out
    })
}

/// The samples of one section with one flavour.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    pub(crate) section: &'static str,
    pub(crate) flavour: Flavour,
    samples: Vec<&'a Sample>,
}

/// What a figure is of: how many clients, and the variant.
pub(crate) type Of = (usize, &'static str);

impl Group<'_> {
    /// Numbers of clients.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        distinct(self.samples.iter().map(|s| s.clients))
    }

    pub(crate) fn variants(&self) -> Vec<&'static str> {
        distinct(self.samples.iter().map(|s| s.variant))
    }

    /// What there are figures of, with their names.
    pub(crate) fn keys(&self) -> Vec<(Of, &'static str)> {
        distinct(self.samples.iter().map(|s| ((s.clients, s.variant), s.metric)))
    }

    pub(crate) fn has(&self, of: Of) -> bool {
        self.samples.iter().any(|s| (s.clients, s.variant) == of)
    }

    pub(crate) fn values(&self, of: Of, metric: &str) -> Quantiles {
        let of_it = |s: &&&Sample| (s.clients, s.variant) == of && s.metric == metric;
        Quantiles::of(self.samples.iter().filter(of_it).map(|s| s.value).collect())
    }

    /// 0 if there is none.
    pub(crate) fn median(&self, of: Of, metric: &str) -> f64 {
        self.values(of, metric).at(0.5).unwrap_or_default()
    }

    /// Of the medians; 0 if one is missing.
    pub(crate) fn ratio(&self, metric: &str, one: Of, other: Of) -> f64 {
        match self.median(other, metric) {
            0.0 => 0.0,
            other => self.median(one, metric) / other,
        }
    }

    /// Whether the quartiles of one, and of the other times the target, overlap.
    pub(crate) fn is_undecided(&self, metric: &str, one: Of, other: Of, target: f64) -> bool {
        let (one, other) = (self.values(one, metric), self.values(other, metric));
        let quartiles = |q: &Quantiles| Some((q.at(0.25)?, q.at(0.75)?));
        match (quartiles(&one), quartiles(&other)) {
            (Some((a, b)), Some((c, d))) => a <= d * target && c * target <= b,
            _ => false,
        }
    }
}

/// Sorted values.
#[derive(Debug)]
pub(crate) struct Quantiles(Vec<f64>);

impl Quantiles {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The quantile `part`, interpolated; `None` without values.
    pub(crate) fn at(&self, part: f64) -> Option<f64> {
        let last = self.0.len().checked_sub(1)?;
        #[expect(clippy::cast_precision_loss, reason = "there are some thousand values at most")]
        let place = last as f64 * part;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and last"
        )]
        let low = place as usize;
        let next = self.0[(low + 1).min(last)];
        Some(self.0[low] + (next - self.0[low]) * place.fract())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: &[(&'static str, f64)]) -> Samples {
        let sample = |&(variant, value)| Sample {
            section: "points",
            flavour: Flavour::MySql,
            clients: 1,
            variant,
            metric: "per_second",
            value,
        };
        Samples(values.iter().map(sample).collect())
    }

    #[test]
    fn quantiles_are_interpolated() {
        let q = Quantiles::of(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!((q.at(0.0), q.at(0.5), q.at(1.0)), (Some(1.0), Some(2.5), Some(4.0)));
        assert_eq!(q.at(0.25), Some(1.75));
        assert_eq!(Quantiles::of(vec![7.0]).at(0.99), Some(7.0));
        assert_eq!(Quantiles::of(vec![]).at(0.5), None);
    }

    #[test]
    fn medians_and_ratios_are_of_one_group() {
        let all = samples(&[("a", 1.0), ("b", 4.0), ("a", 3.0)]);
        let group = all.group("points", Flavour::MySql);
        assert_eq!(group.variants(), ["a", "b"]);
        assert!((group.ratio("per_second", (1, "a"), (1, "b")) - 0.5).abs() < 1e-9);
        assert!(group.ratio("per_second", (1, "a"), (16, "b")).abs() < 1e-9);
        assert!(all.group("points", Flavour::MariaDb).sizes().is_empty());
    }

    #[test]
    fn quartiles_that_overlap_decide_nothing() {
        let all = samples(&[("a", 10.0), ("a", 12.0), ("b", 11.0), ("b", 11.0), ("c", 20.0)]);
        let group = all.group("points", Flavour::MySql);
        let undecided =
            |other, target| group.is_undecided("per_second", (1, "a"), (1, other), target);
        assert!(undecided("b", 1.0));
        assert!(!undecided("b", 2.0));
        assert!(!undecided("c", 1.0));
        assert!(undecided("c", 0.55));
        assert!(!undecided("none", 1.0));
    }
}
