//! Clients that send what no client should, at every stage of a connection: the proxy answers with
//! an error or closes, and no other client notices.
//!
//! A run prints its seed. `LOCKSTEAD_HOSTILE_SEED=seed` draws the same again,
//! `LOCKSTEAD_HOSTILE_COUNT=n` more or less of it; `LOCKSTEAD_HOSTILE_TRACE=1` prints what is sent.

mod answers;
mod commands;
mod files;
mod logins;
mod pieces;
mod stage;

use crate::stage::on_both;

use answers::{answers_in_a_change_of_user, answers_in_a_login};
use commands::{
    commands, executions_that_cannot_be_read_take_no_lock,
    short_packets_are_answered_as_by_the_server,
};
use files::a_proxy_without_free_files_serves_those_it_has;
use logins::{bytes_in_place_of_a_login, logins_byte_by_byte};
use pieces::compressed_pieces;

on_both! {
    bytes_in_place_of_a_login
    logins_byte_by_byte
    answers_in_a_login
    answers_in_a_change_of_user
    commands
    short_packets_are_answered_as_by_the_server
    executions_that_cannot_be_read_take_no_lock
    compressed_pieces
    a_proxy_without_free_files_serves_those_it_has
}
