//! The second argument of GET_LOCK: how long each flavour waits for which value.
//!
//! native-semantics, section 3. MySQL rounds to whole seconds and waits for ever below zero;
//! MariaDB takes fractions and refuses NULL and negative values.

use std::time::Duration;

use crate::types::Flavour;

/// A judged timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// Try once.
    Once,
    /// Wait this long at most.
    Wait(Duration),
    /// Wait without limit.
    Forever,
    /// The server takes no lock for this value and answers NULL with a warning.
    Refused,
}

/// No wait is timed longer than this; it stands for ever.
const FOREVER: u64 = 10_000_000_000;

/// From here on MariaDB's deadline in nanoseconds overflows, and it tries once.
const MARIADB_OVERFLOW: i128 = 16_600_000_000;

impl Timeout {
    /// An integer argument.
    pub fn from_int(n: i128, flavour: Flavour) -> Self {
        match flavour {
            Flavour::MySql if n < 0 => Self::Forever,
            Flavour::MariaDb if n < 0 || n == i128::from(i64::MAX) || n > i128::from(u64::MAX) => {
                Self::Refused
            }
            Flavour::MariaDb if n >= MARIADB_OVERFLOW => Self::Once,
            Flavour::MySql | Flavour::MariaDb => {
                Self::seconds(u64::try_from(n).unwrap_or(u64::MAX))
            }
        }
    }

    /// A floating-point argument.
    pub fn from_double(x: f64, flavour: Flavour) -> Self {
        match flavour {
            Flavour::MySql => {
                let rounded = x.round_ties_even();
                if rounded < 0.0 { Self::Forever } else { Self::seconds(whole(rounded)) }
            }
            Flavour::MariaDb if x <= -1.0 || x.is_nan() => Self::Refused,
            Flavour::MariaDb if x >= 9.2e18 => Self::Refused,
            Flavour::MariaDb if x >= 1.66e10 => Self::Once,
            Flavour::MariaDb if x <= 0.0 => Self::Once,
            Flavour::MariaDb => Self::from_micros(x * 1e6),
        }
    }

    /// NULL.
    pub fn from_null(flavour: Flavour) -> Self {
        match flavour {
            Flavour::MySql => Self::Once,
            Flavour::MariaDb => Self::Refused,
        }
    }

    /// A literal of digits and at most one point, with an optional sign.
    pub fn from_decimal(text: &str, flavour: Flavour) -> Option<Self> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (int, frac) = digits.split_once('.').unwrap_or((digits, ""));
        // MySQL warns about integers that do not fit; the server shall do so itself.
        let digits = if flavour == Flavour::MySql { 18 } else { 30 };
        if int.len() > digits || frac.len() > 15 || int.len() + frac.len() == 0 {
            return None;
        }
        let int: i128 = if int.is_empty() { 0 } else { int.parse().ok()? };
        if frac.is_empty() {
            return Some(Self::from_int(if negative { -int } else { int }, flavour));
        }
        match flavour {
            Flavour::MySql => {
                // Decimals round half away from zero.
                let up = i128::from(frac.as_bytes().first().is_some_and(|d| *d >= b'5'));
                let n = if negative { -(int + up) } else { int + up };
                Some(Self::from_int(n, flavour))
            }
            Flavour::MariaDb => {
                let x: f64 = format!("{int}.{frac}0").parse().ok()?;
                Some(Self::from_double(if negative { -x } else { x }, flavour))
            }
        }
    }

    fn seconds(n: u64) -> Self {
        match n {
            0 => Self::Once,
            FOREVER.. => Self::Forever,
            n => Self::Wait(Duration::from_secs(n)),
        }
    }

    fn from_micros(micros: f64) -> Self {
        match whole(micros) {
            0 => Self::Once,
            n => Self::Wait(Duration::from_micros(n)),
        }
    }
}

/// A number in a text that is bound to a timeout. MySQL takes it exactly, and rounds half away from
/// zero; of any other text it takes what begins like an integer.
#[derive(Debug)]
pub struct BoundNumber {
    negative: bool,
    /// All digits, and how many of them stand before the point.
    digits: Vec<u8>,
    point: i64,
    text: String,
}

/// Digits that MySQL's decimals have, and those of them after the point.
const DECIMAL: (i64, i64) = (65, 30);

impl BoundNumber {
    /// Reads a text; `None` if it is not one number, white space around it aside.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let space = |b: &u8| matches!(b, b' ' | b'\t'..=b'\r');
        let start = text.iter().position(|b| !space(b))?;
        let end = text.iter().rposition(|b| !space(b))? + 1;
        let text = std::str::from_utf8(&text[start..end]).ok()?;
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                let digits = exponent.trim_start_matches(['+', '-']);
                let one_sign = exponent.len() - digits.len() <= 1;
                (one_sign && !digits.is_empty()).then_some(())?;
                (mantissa, exponent.parse::<i64>().ok().filter(|e| e.abs() < 10_000)?)
            }
            None => (unsigned, 0),
        };
        let (int, frac) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [int.as_bytes(), frac.as_bytes()].concat();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let point = i64::try_from(int.len()).ok()? + exponent;
        Some(Self { negative, digits, point, text: text.to_owned() })
    }

    /// How long it makes a caller wait.
    pub fn timeout(&self) -> Timeout {
        match self.rounded() {
            Some(n) => Timeout::from_int(n, Flavour::MySql),
            None => Timeout::Forever,
        }
    }

    /// An expression that warns as the server does of this number, if it does.
    pub fn warning(&self) -> Option<Vec<u8>> {
        let length = i64::try_from(self.digits.len()).ok()?;
        let scale = (length - self.point).max(0);
        let fits = self.point + scale <= DECIMAL.0 && scale <= DECIMAL.1;
        let in_range = self.rounded().is_some_and(|n| i64::try_from(n).is_ok());
        let text = &self.text;
        (fits && !in_range)
            .then(|| format!("CAST(CAST('{text}' AS DECIMAL(65,{scale})) AS SIGNED)").into_bytes())
    }

    /// The nearest integer; `None` if it is far beyond all integers.
    fn rounded(&self) -> Option<i128> {
        const MOST: usize = 30;
        let leading = self.digits.iter().take_while(|d| **d == b'0').count();
        let Ok(point) = usize::try_from(self.point) else { return Some(0) };
        if leading == self.digits.len() {
            return Some(0);
        }
        if point.saturating_sub(leading) > MOST {
            return None;
        }
        let digit = |at: usize| i128::from(self.digits.get(at).map_or(0, |d| d - b'0'));
        let whole = (leading.min(point)..point).fold(0, |n, at| n * 10 + digit(at));
        let n = whole + i128::from(digit(point) >= 5);
        Some(if self.negative { -n } else { n })
    }
}

/// A non-negative float as an integer, saturating.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, x >= 0")]
fn whole(x: f64) -> u64 {
    x as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Timeout {
        Timeout::Wait(Duration::from_millis(n))
    }

    #[test]
    fn decimal_literals_round_on_mysql_and_stay_fractions_on_mariadb() {
        use Timeout::{Forever, Once, Refused};
        for (text, mysql, mariadb) in [
            ("0", Once, Once),
            ("0.4", Once, ms(400)),
            ("0.5", ms(1000), ms(500)),
            ("1.4", ms(1000), ms(1400)),
            ("1.5", ms(2000), ms(1500)),
            (".6", ms(1000), ms(600)),
            ("-1", Forever, Refused),
            ("-0.5", Forever, Once),
            ("-0.4", Once, Once),
        ] {
            assert_eq!(Timeout::from_decimal(text, Flavour::MySql), Some(mysql), "{text}");
            assert_eq!(Timeout::from_decimal(text, Flavour::MariaDb), Some(mariadb), "{text}");
        }
    }

    #[test]
    fn doubles_round_half_to_even_on_mysql() {
        for (x, seconds) in [(0.5, 0), (1.5, 2), (2.5, 2)] {
            let want = if seconds == 0 { Timeout::Once } else { ms(seconds * 1000) };
            assert_eq!(Timeout::from_double(x, Flavour::MySql), want, "{x}");
        }
    }

    #[test]
    fn a_number_in_a_bound_text_is_exact_on_mysql() {
        use Timeout::{Forever, Once};
        for (text, timeout, warns) in [
            ("0.4", Once, false),
            ("0.5", ms(1000), false),
            ("15e-1", ms(2000), false),
            ("25E-1", ms(3000), false),
            (" +1.5\n", ms(2000), false),
            (".5", ms(1000), false),
            ("1.", ms(1000), false),
            ("0.002e3", ms(2000), false),
            ("5e-5", Once, false),
            ("-0.4", Once, false),
            ("-0.5", Forever, false),
            ("1e300", Forever, false),
            ("-1e300", Forever, false),
            ("0e300", Once, false),
            ("9223372036854775807", Forever, false),
            ("9223372036854775808", Forever, true),
            ("-9223372036854775809.5", Forever, true),
            ("1e50", Forever, true),
        ] {
            let number = BoundNumber::parse(text.as_bytes()).expect(text);
            assert_eq!(number.timeout(), timeout, "{text}");
            assert_eq!(number.warning().is_some(), warns, "{text}");
        }
        let none = ["", " ", "abc", "1abc", "1e", "1e+", "1e+-1", "0x1", "--1", ".", "1.2.3", "e1"];
        for text in none {
            assert!(BoundNumber::parse(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn huge_values_never_overflow() {
        assert_eq!(Timeout::from_int(i128::from(i64::MAX), Flavour::MariaDb), Timeout::Refused);
        assert_eq!(Timeout::from_int(1 << 63, Flavour::MariaDb), Timeout::Once);
        assert_eq!(Timeout::from_int(1 << 63, Flavour::MySql), Timeout::Forever);
        assert_eq!(Timeout::from_double(1e300, Flavour::MySql), Timeout::Forever);
        assert_eq!(Timeout::from_double(1e300, Flavour::MariaDb), Timeout::Refused);
    }
}
