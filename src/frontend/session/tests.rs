//! Whole sessions, between peers that do what the test says.

use tokio::io::AsyncWriteExt;

use super::scripted::{OK, SessionPeers, packet, play, query};
use crate::engine::handle::SessionEvent;
use crate::protocol::packet as packets;
use crate::types::Flavour;

/// Whether an error packet has this code.
fn is_error(bytes: &[u8], code: u16) -> bool {
    bytes.get(4) == Some(&0xff) && bytes.get(5..7) == Some(&code.to_le_bytes()[..])
}

/// The client leaves as clients do.
async fn quit(mut peers: SessionPeers) {
    let quit = packets::quit();
    peers.client.write_all(&quit).await.expect("a client that can write");
    peers.server_hears(&quit).await;
    peers.server.shutdown().await.expect("an end");
    assert!(peers.client_s_last().await.is_empty());
}

#[test]
fn a_statement_and_its_answer_pass_as_they_are() {
    for flavour in [Flavour::MySql, Flavour::MariaDb] {
        play(flavour, async |mut peers| {
            peers.exchange(&query("SELECT 1"), &packet(1, OK)).await;
            peers.exchange(&query("INSERT INTO t VALUES (1)"), &packet(1, OK)).await;
            quit(peers).await;
        });
    }
}

#[test]
fn a_command_in_pieces_is_the_same_command() {
    play(Flavour::MySql, async |mut peers| {
        let command = query("SELECT 'a text that comes slowly'");
        for byte in &command {
            peers.client.write_all(&[*byte]).await.expect("a client that can write");
            tokio::task::yield_now().await;
        }
        peers.server_hears(&command).await;
        let answer = packet(1, OK);
        for byte in &answer {
            peers.server.write_all(&[*byte]).await.expect("a server that can write");
            tokio::task::yield_now().await;
        }
        peers.client_hears(&answer).await;
        quit(peers).await;
    });
}

#[test]
fn commands_on_their_way_are_answered_in_order() {
    play(Flavour::MySql, async |mut peers| {
        let both = [query("SELECT 1"), query("DO 1")].concat();
        peers.client.write_all(&both).await.expect("a client that can write");
        peers.server_hears(&both).await;
        let answers = [packet(1, OK), packet(1, OK)].concat();
        peers.server.write_all(&answers).await.expect("a server that can write");
        peers.client_hears(&answers).await;
        quit(peers).await;
    });
}

#[test]
fn an_answer_that_nothing_has_asked_for_ends_the_session() {
    play(Flavour::MySql, async |mut peers| {
        peers.exchange(&query("SELECT 1"), &packet(1, OK)).await;
        peers.server.write_all(&packet(1, OK)).await.expect("a server that can write");
        let last = peers.client_s_last().await;
        assert!(!last.starts_with(&packet(1, OK)), "a stranger's answer: {last:?}");
        assert_eq!(peers.metrics.protocol_errors.with_label_values(&["none"]).get(), 1);
    });
}

#[test]
fn an_answer_that_cannot_be_followed_ends_the_session() {
    play(Flavour::MySql, async |mut peers| {
        let command = query("SELECT 1");
        peers.client.write_all(&command).await.expect("a client that can write");
        peers.server_hears(&command).await;
        // One column, and then an OK in place of its definition.
        let broken = [packet(1, &[1]), packet(2, &[])].concat();
        peers.server.write_all(&broken).await.expect("a server that can write");
        peers.client_s_last().await;
        assert_eq!(peers.metrics.protocol_errors.with_label_values(&["query"]).get(), 1);
    });
}

#[test]
fn the_last_words_of_a_server_reach_the_client() {
    play(Flavour::MySql, async |mut peers| {
        let error = packet(0, &[&[0xff][..], &4031_u16.to_le_bytes(), b"#HY000Too long"].concat());
        peers.server.write_all(&error).await.expect("a server that can write");
        peers.server.shutdown().await.expect("an end");
        let last = peers.client_s_last().await;
        assert!(is_error(&last, 4031), "{last:?}");
    });
}

#[test]
fn a_drain_ends_a_session_between_commands_and_none_in_a_statement() {
    play(Flavour::MySql, async |mut peers| {
        let command = query("SELECT SLEEP(1)");
        peers.client.write_all(&command).await.expect("a client that can write");
        peers.server_hears(&command).await;
        peers.events.send(SessionEvent::Drain).expect("a session that listens");
        tokio::task::yield_now().await;
        peers.server.write_all(&packet(1, OK)).await.expect("a server that can write");
        peers.client_hears(&packet(1, OK)).await;
        let last = peers.client_s_last().await;
        assert!(is_error(&last, 1053), "{last:?}");
    });
}

#[test]
fn a_session_that_is_killed_ends_though_its_server_is_silent() {
    play(Flavour::MySql, async |mut peers| {
        // The arguments are evaluated by the server, which never answers.
        let command = query("SELECT GET_LOCK(CONCAT('a', @b), 1)");
        peers.client.write_all(&command).await.expect("a client that can write");
        peers.server_says_nothing_to_a_question().await;
        peers.events.send(SessionEvent::Kill).expect("a session that listens");
        peers.client_s_last().await;
        assert_eq!(peers.metrics.errands_cut.with_label_values(&["statement"]).get(), 1);
    });
}

#[test]
fn a_lock_call_without_an_engine_is_an_error_and_the_session_goes_on() {
    play(Flavour::MySql, async |mut peers| {
        let command = query("SELECT GET_LOCK('a', 0)");
        peers.client.write_all(&command).await.expect("a client that can write");
        let error = peers.client_s_packet().await;
        assert!(is_error(&error, 1105), "{error:?}");
        quit(peers).await;
    });
}
