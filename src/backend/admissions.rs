//! Logins that the server has judged a short time ago: within `login_check_ttl` a client that proves the same password
//! in the same way is let in without the server.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::net::certificates::LegTls;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::handshake::Greeting;
use crate::protocol::user_name::UserName;

/// How long clients get nonces of the server's own after one of the proxy's has kept an old client out, so that it can
/// try again.
const OLD_CLIENTS: Duration = Duration::from_mins(1);
/// Logins that are remembered at most, and those of one account: it cannot take the places of others.
const MOST: usize = 1024;
const MOST_OF_ONE: usize = 64;

/// What makes two logins alike, so that the server would give both the same session: all that the server judges a login
/// by, but for the proof.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LoginShape {
    /// The user name, which is certain.
    pub user: UserName,
    /// What the client asked for.
    pub capabilities: Capabilities,
    /// The first collation.
    pub collation: u8,
    /// The default schema; empty for none.
    pub schema: Box<[u8]>,
    /// How the server's leg is encrypted.
    pub tls: LegTls,
}

/// A greeting of the server's, to be given to other clients with another nonce.
#[derive(Debug)]
pub struct KnownGreeting {
    /// The frame, header included, as the server sent it.
    pub frame: Vec<u8>,
    /// The greeting, decoded.
    pub greeting: Greeting,
}

/// The values that a session has right after its login, as the server has told them.
pub type LoginValues = Arc<[Option<Vec<u8>>]>;

/// Logins that the server judged before the same moment belong to one round. Accounts change in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round(u64);

/// A login that the server has accepted, with the password that is known of its account.
#[derive(Debug)]
pub struct JudgedLogin {
    /// What the login has in common with those like it.
    pub shape: LoginShape,
    /// The plugin that it was proved by.
    pub plugin: Vec<u8>,
    /// The OK that the client got, as a packet without its header.
    pub ok: Vec<u8>,
    /// What the server greeted with.
    pub greeting: Arc<KnownGreeting>,
    /// When the server was asked.
    pub asked: Instant,
    /// When the server was asked, among the changes of accounts.
    pub round: Round,
}

/// How a login that is let in without the server begins.
#[derive(Debug, Clone)]
pub struct Admission {
    /// The OK packet, without its header.
    pub ok: Vec<u8>,
    /// The session's first values.
    pub values: LoginValues,
}

struct RememberedLogin {
    asked: Instant,
    plugin: Vec<u8>,
    admission: Admission,
}

#[derive(Default)]
struct Remembered {
    round: u64,
    logins: HashMap<LoginShape, RememberedLogin>,
    /// Greeting of the login that was judged last, and when that was.
    greeting: Option<(Arc<KnownGreeting>, Instant)>,
    /// When a client that cannot be asked again had an answer that could not be passed on.
    unanswered: Option<Instant>,
}

/// The logins that the server has judged last.
#[derive(Default)]
pub struct Admissions(Mutex<Remembered>);

impl Admissions {
    /// The round of a login that begins now.
    pub fn round(&self) -> Round {
        Round(self.0.lock().round)
    }

    /// Remembers a login, unless accounts have changed since the server was asked.
    pub fn remember(&self, judged: JudgedLogin, values: LoginValues, ttl: Duration) {
        let mut remembered = self.0.lock();
        let JudgedLogin { shape, plugin, ok, greeting, asked, round } = judged;
        if round != Round(remembered.round) {
            return;
        }
        if remembered.logins.len() >= MOST_OF_ONE {
            remembered.logins.retain(|_, entry| entry.asked.elapsed() < ttl);
        }
        let of_account = |other: &&LoginShape| other.user == shape.user;
        let has_room = remembered.logins.len() < MOST
            && remembered.logins.keys().filter(of_account).count() < MOST_OF_ONE;
        if has_room || remembered.logins.contains_key(&shape) {
            let admission = Admission { ok, values };
            remembered.logins.insert(shape, RememberedLogin { asked, plugin, admission });
            remembered.greeting = Some((greeting, asked));
        }
    }

    /// The server's greeting, if some login may be let in by it.
    pub fn greeting(&self, ttl: Duration) -> Option<Arc<KnownGreeting>> {
        let remembered = self.0.lock();
        let (greeting, asked) = remembered.greeting.as_ref()?;
        if remembered.unanswered.is_some_and(|at| at.elapsed() < OLD_CLIENTS) {
            return None;
        }
        (asked.elapsed() < ttl).then(|| Arc::clone(greeting))
    }

    /// How such a login begins, if the server has let one in not longer than `ttl` ago.
    pub(super) fn of(&self, shape: &LoginShape, plugin: &[u8], ttl: Duration) -> Option<Admission> {
        let remembered = self.0.lock();
        let entry = remembered.logins.get(shape)?;
        let counts = entry.asked.elapsed() < ttl && entry.plugin == plugin;
        counts.then(|| entry.admission.clone())
    }

    /// Accounts may have changed, or the server: each login is judged again.
    pub fn clear(&self) {
        let mut remembered = self.0.lock();
        let (round, unanswered) = (remembered.round + 1, remembered.unanswered);
        *remembered = Remembered { round, unanswered, ..Remembered::default() };
    }

    /// A client that cannot be asked for another answer has given one by a nonce of the proxy's, which is no proof to
    /// the server.
    pub fn note_unanswered(&self) {
        self.0.lock().unanswered = Some(Instant::now());
    }
}

impl fmt::Debug for Admissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Admissions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Flavour;

    const TTL: Duration = Duration::from_secs(10);
    const PLUGIN: &[u8] = b"caching_sha2_password";

    fn shape(user: &[u8]) -> LoginShape {
        let (capabilities, schema) = (Capabilities(0), (*b"").into());
        let (user, tls) = (UserName::of_login(user, Some(45), Flavour::MySql), LegTls::Off);
        LoginShape { user, capabilities, collation: 45, schema, tls }
    }

    fn judged(admissions: &Admissions, user: &[u8], ago: Duration) -> JudgedLogin {
        let payload = crate::protocol::serve::greeting("9.0.0", 7, &[b'n'; 20], Capabilities(0));
        let greeting = Greeting::parse(&payload).expect("a greeting");
        JudgedLogin {
            shape: shape(user),
            plugin: PLUGIN.to_vec(),
            ok: vec![0],
            greeting: Arc::new(KnownGreeting { frame: payload, greeting }),
            asked: Instant::now() - ago,
            round: admissions.round(),
        }
    }

    fn admits(admissions: &Admissions, user: &[u8]) -> bool {
        admissions.of(&shape(user), PLUGIN, TTL).is_some()
    }

    #[test]
    fn a_login_counts_for_the_time_and_for_logins_like_it() {
        let admissions = Admissions::default();
        assert!(admissions.greeting(TTL).is_none());
        admissions.remember(judged(&admissions, b"a", Duration::ZERO), Arc::new([]), TTL);
        assert!(admits(&admissions, b"a") && !admits(&admissions, b"b"));
        assert!(admissions.of(&shape(b"a"), b"mysql_native_password", TTL).is_none());
        let collation = LoginShape { collation: 8, ..shape(b"a") };
        let encrypted = LoginShape { tls: LegTls::Nameless, ..shape(b"a") };
        let certified = LoginShape { tls: LegTls::Certified((*b"x").into()), ..shape(b"a") };
        for other in [collation, encrypted, certified] {
            assert!(admissions.of(&other, PLUGIN, TTL).is_none());
        }
        assert!(admissions.of(&shape(b"a"), PLUGIN, Duration::ZERO).is_none());
        assert!(
            admissions.greeting(TTL).is_some() && admissions.greeting(Duration::ZERO).is_none()
        );
        admissions.remember(judged(&admissions, b"a", TTL), Arc::new([]), TTL);
        assert!(!admits(&admissions, b"a") && admissions.greeting(TTL).is_none());
    }

    #[test]
    fn a_login_that_was_asked_before_a_change_of_accounts_does_not_count() {
        let admissions = Admissions::default();
        admissions.remember(judged(&admissions, b"a", Duration::ZERO), Arc::new([]), TTL);
        let under_way = judged(&admissions, b"b", Duration::ZERO);
        admissions.clear();
        admissions.remember(under_way, Arc::new([]), TTL);
        assert!(!admits(&admissions, b"a") && !admits(&admissions, b"b"));
        assert!(admissions.greeting(TTL).is_none());
    }

    #[test]
    fn after_an_old_client_was_kept_out_the_server_s_nonces_are_used_for_a_while() {
        let admissions = Admissions::default();
        admissions.remember(judged(&admissions, b"a", Duration::ZERO), Arc::new([]), TTL);
        admissions.note_unanswered();
        assert!(admissions.greeting(TTL).is_none() && admits(&admissions, b"a"));
        admissions.0.lock().unanswered = Instant::now().checked_sub(OLD_CLIENTS);
        assert!(admissions.greeting(TTL).is_some());
    }

    #[test]
    fn they_are_bounded() {
        let admissions = Admissions::default();
        let ago = Duration::ZERO;
        for n in 0..=MOST {
            let user = n.to_string();
            admissions.remember(judged(&admissions, user.as_bytes(), ago), Arc::new([]), TTL);
        }
        assert!(!admits(&admissions, MOST.to_string().as_bytes()) && admits(&admissions, b"1"));
        // The first is over.
        admissions.remember(judged(&admissions, b"0", TTL), Arc::new([]), TTL);
        admissions.remember(judged(&admissions, b"later", ago), Arc::new([]), TTL);
        assert!(admits(&admissions, b"later"));
    }

    #[test]
    fn an_account_cannot_take_the_places_of_others() {
        let admissions = Admissions::default();
        for n in 0..MOST {
            let login = judged(&admissions, b"many", Duration::ZERO);
            let schema = n.to_string().into_bytes().into();
            let shape = LoginShape { schema, ..login.shape };
            admissions.remember(JudgedLogin { shape, ..login }, Arc::new([]), TTL);
        }
        assert_eq!(admissions.0.lock().logins.len(), MOST_OF_ONE);
        admissions.remember(judged(&admissions, b"a", Duration::ZERO), Arc::new([]), TTL);
        assert!(admits(&admissions, b"a"));
    }
}
