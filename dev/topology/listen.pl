#!/usr/bin/perl
# Runs a MariaDB server in a network namespace, with listeners inside and outside:
#
#   listen.pl NAMESPACE ADDRESS SERVER OPTION...
#
# It listens on 127.0.0.1 where it is started, and on ADDRESS in the namespace, both at
# the server's --port, and on its --socket. Then it becomes the server, which takes
# listeners from its parent as systemd passes them. MySQL needs none of this: its
# --bind-address names namespaces itself.
use strict;
use warnings;
use Fcntl qw(F_SETFD);
use POSIX qw(uname);
use Socket qw(AF_INET AF_UNIX SOCK_STREAM SOL_SOCKET SO_REUSEADDR inet_aton pack_sockaddr_in pack_sockaddr_un);

my ($namespace, $address, @server) = @ARGV;
my ($port) = map { /^--port=(\d+)$/ } @server;
my ($path) = map { /^--socket=(.+)$/ } @server;
die "listen.pl: no port or no socket among the server's options\n" unless $port && $path;

# As systemd does it: the listeners are the descriptors from 3 on, without gaps.
my @listeners;
sub listen_on {
    my ($family, $where, $name) = @_;
    socket(my $listener, $family, SOCK_STREAM, 0) or die "socket: $!\n";
    setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, 1) or die "SO_REUSEADDR: $!\n";
    # In the server's own words, by which dev/server.sh knows a port that is taken.
    bind($listener, $where) && listen($listener, 512) or die "listen.pl: $name: $!\n";
    fcntl($listener, F_SETFD, 0) or die "F_SETFD: $!\n";
    push @listeners, $listener;
    fileno($listener) == 2 + @listeners or die "listen.pl: another file is open\n";
}

listen_on(AF_INET, pack_sockaddr_in($port, inet_aton('127.0.0.1')), "127.0.0.1:$port");
listen_on(AF_UNIX, pack_sockaddr_un($path), $path);

open(my $there, '<', "/run/netns/$namespace") or die "listen.pl: namespace $namespace: $!\n";
my %setns = (x86_64 => 308, aarch64 => 268);
my $number = $setns{(uname())[4]} or die "listen.pl: what number has setns on this machine?\n";
syscall($number, fileno($there), 0) == 0 or die "listen.pl: setns: $!\n";
close $there;
listen_on(AF_INET, pack_sockaddr_in($port, inet_aton($address)), "$address:$port");

$ENV{LISTEN_PID} = $$;
$ENV{LISTEN_FDS} = @listeners;
exec { $server[0] } @server or die "listen.pl: $server[0]: $!\n";
