#!/usr/bin/perl
# The cases of Perl's drivers.
use v5.30;
use warnings;
use utf8;
use DBI;
use Digest::SHA qw(sha256_hex sha512);
use Encode qw(encode_utf8 is_utf8);
use File::Basename qw(dirname);
use File::Temp;
use Time::HiRes qw(sleep);

my $driver = { 'dbd-mysql' => 'mysql', 'dbd-mariadb' => 'MariaDB' }->{ shift @ARGV } or die 'no such client';
# Options and attributes have the driver's name in front.
my $prefix = lc $driver;
my $schema = $ENV{DB_SCHEMA};
my $case   = '';
binmode STDOUT, ':utf8';
$| = 1;

sub say_ { my $line = "$case: $_[0]"; $line =~ s/\Q$schema\E/SCHEMA/g; say $line }

sub show {
    my ($v) = @_;
    return 'NULL' unless defined $v;
    return '[' . join(', ', map { show($_) } @$v) . ']' if ref $v;
    my $bytes = is_utf8($v) ? encode_utf8($v) : $v;
    return 'long:' . length($bytes) . ':' . sha256_hex($bytes) if length $bytes > 80;
    return "x'" . unpack('H*', $bytes) . "'" if !is_utf8($v) && $v =~ /[^\x20-\x7e]/;
    return "'$v'";
}

sub tell_ {
    my ($what, $work) = @_;
    my $value = eval { $work->() };
    if (my $e = $@) {
        my $code = $DBI::err // '-';
        # Not where in this file it happened.
        my $text = ref $e ? "$e" : ($DBI::errstr // $e);
        $text =~ s/ at \S+ line \d+.*//s;
        say_("$what = error $code " . ($DBI::state // '-') . ' ' . (is_utf8($text) ? $text : Encode::decode('UTF-8', $text)));
    } else {
        say_("$what = " . show($value));
    }
}

sub session {
    my (%o) = @_;
    my %dsn = (
        host => $ENV{DB_HOST}, port => $ENV{DB_PORT}, database => $o{database} // $schema,
        "${prefix}_local_infile" => 1, "${prefix}_multi_statements" => $o{multi} ? 1 : 0,
        "${prefix}_compression" => $o{compress} ? 1 : 0, "${prefix}_server_prepare" => $o{prepare} ? 1 : 0,
        "${prefix}_max_allowed_packet" => 1 << 28,
    );
    if ($ENV{DB_TLS} eq 'on') {
        $dsn{"${prefix}_ssl"} = 1;
        $dsn{"${prefix}_ssl_ca_file"} = $ENV{DB_CA};
        $dsn{"${prefix}_ssl_verify_server_cert"} = 1;
        # The distribution's DBD::mysql cannot insist; the case `connect` tells whether there is TLS.
        $dsn{mysql_ssl_optional} = 1 if $driver eq 'mysql';
    }
    my %attributes = (RaiseError => 1, PrintError => 0, AutoCommit => 1, AutoInactiveDestroy => 1);
    $attributes{mysql_enable_utf8mb4} = 1 if $driver eq 'mysql';
    return DBI->connect("dbi:$driver:" . join(';', map { "$_=$dsn{$_}" } sort keys %dsn),
        $o{user} // $ENV{DB_USER}, $o{password} // $ENV{DB_PASSWORD}, \%attributes);
}

sub rows { my ($s, $sql, @v) = @_; $s->selectall_arrayref($sql, undef, @v) }
sub value { my ($s, $sql, @v) = @_; ($s->selectrow_array($sql, undef, @v))[0] }
my @ways = ([text => 0], [prepared => 1]);

my %cases = (
    connect => sub {
        my ($s) = @_;
        tell_('version', sub { value($s, 'SELECT VERSION()') });
        say_("greeting = $s->{\"${prefix}_serverinfo\"}");
        tell_('TLS', sub { @{ rows($s, "SHOW SESSION STATUS WHERE Variable_name = 'Ssl_cipher' AND Value <> ''") } ? 'yes' : 'no' });
        tell_('account', sub { value($s, 'SELECT CURRENT_USER()') });
        tell_('character set', sub { rows($s, 'SELECT @@character_set_client, @@character_set_results, @@collation_connection') });
        tell_('ping', sub { $s->ping });
        tell_("wrong $_", sub { value(session($_ => $_ eq 'password' ? 'wrong' : 'nosuch'), 'SELECT 1') }) for qw(password database user);
    },
    types => sub {
        for my $way (@ways) {
            my $s = session(prepare => $way->[1]);
            for my $table (qw(numbers texts bytes times durations others)) {
                my $h = eval { my $h = $s->prepare("SELECT * FROM $table ORDER BY id"); $h->execute; $h } or do {
                    tell_("$table $way->[0]", sub { die $@ });
                    next;
                };
                say_("$table $_ " . join ' ', map { ref $_ eq 'ARRAY' ? map { $_ // '-' } @$_ : $_ // '-' } $h->{$_}) for qw(NAME TYPE PRECISION SCALE NULLABLE);
                while (my $row = eval { $h->fetchrow_arrayref }) { say_("$table $way->[0] " . show([@$row])) }
                tell_("$table $way->[0]", sub { die $@ }) if $@;
            }
        }
    },
    prepared => sub {
        for my $way (@ways) {
            my $s = session(prepare => $way->[1]);
            my $i = 0;
            for my $v (1, -1.5, 'ü€😀', undef, "\x00\xff'", '2024-02-29 12:34:56') {
                $i++;
                tell_("$way->[0] parameter $i", sub { rows($s, "SELECT ? AS v$i, LENGTH(?) AS l", $v, $v) });
            }
            my $h = $s->prepare('SELECT CONCAT(?) AS v');
            for my $v (1, 'two', undef, 3.5) {
                tell_("$way->[0] again", sub { $h->execute($v); $h->fetchall_arrayref });
            }
            tell_("$way->[0] lock", sub { rows($s, 'SELECT GET_LOCK(?, ?)', "$schema.p", 0) });
            tell_("$way->[0] locks", sub { rows($s, 'SELECT GET_LOCK(?, ?), IS_USED_LOCK(?) = CONNECTION_ID(), RELEASE_LOCK(?)', "$schema.p", 0, "$schema.p", "$schema.p") });
            tell_("$way->[0] all", sub { value($s, 'SELECT RELEASE_ALL_LOCKS()') });
            tell_("$way->[0] insert", sub { $s->do('INSERT INTO items (name, amount) VALUES (?, ?)', undef, 'p', 7) });
            tell_("$way->[0] update", sub { $s->do('UPDATE items SET amount = ? WHERE name = ?', undef, 8, 'p') });
            tell_("$way->[0] delete", sub { $s->do('DELETE FROM items WHERE name = ?', undef, 'p') });
            tell_("$way->[0] syntax", sub { rows($s, 'SELEC ?', 1) });
            tell_("$way->[0] missing", sub { rows($s, 'SELECT * FROM nosuch WHERE id = ?', 1) });
        }
    },
    transactions => sub {
        my ($s) = @_;
        my $other = session();
        $s->begin_work;
        tell_('insert', sub { $s->do("INSERT INTO items (name, amount) VALUES ('a', 1), ('b', 2)") });
        tell_('not seen', sub { value($other, 'SELECT COUNT(*) FROM items') });
        $s->rollback;
        tell_('rolled back', sub { value($s, 'SELECT COUNT(*) FROM items') });
        $s->begin_work;
        $s->do("INSERT INTO items (name, amount) VALUES ('a', 1)");
        $s->do('SAVEPOINT x');
        $s->do("INSERT INTO items (name, amount) VALUES ('b', 2)");
        $s->do('ROLLBACK TO SAVEPOINT x');
        $s->commit;
        tell_('committed', sub { rows($other, 'SELECT name, amount FROM items ORDER BY name') });
        $other->do('SET SESSION innodb_lock_wait_timeout = 1');
        $s->begin_work;
        $s->do("UPDATE items SET amount = 5 WHERE name = 'a'");
        tell_('row lock', sub { $other->do("UPDATE items SET amount = 6 WHERE name = 'a'") });
        $s->rollback;
        $s->do('DELETE FROM items');
    },
    errors => sub {
        my ($s) = @_;
        $s->do("INSERT INTO items (id, name) VALUES (1, 'taken')");
        for my $sql ('SELEC 1', 'SELECT nosuch FROM items', 'SELECT * FROM nosuch', "INSERT INTO items (name) VALUES ('taken')",
            'INSERT INTO items (name) VALUES (NULL)', "INSERT INTO items (name, amount) VALUES ('x', 5000)", 'SELECT 1; SELECT 2',
            "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'ours', MYSQL_ERRNO = 4321", 'CALL nosuch()', "DO GET_LOCK(REPEAT('x', 65), 0)",
            'DO GET_LOCK()', 'DO GET_LOCK(NULL, 0)', "DO RELEASE_LOCK('nosuch')", 'KILL 4294967295', 'DO (SELECT n FROM digits)') {
            tell_($sql, sub { $s->do($sql) });
        }
        tell_("SELECT RELEASE_LOCK('nosuch')", sub { rows($s, "SELECT RELEASE_LOCK('nosuch')") });
        $s->do('DELETE FROM items');
    },
    big_packet => sub {
        my $data = join '', map { sha512($_) } 1 .. (20 << 20) / 64;
        say_('sent = ' . sha256_hex($data));
        for my $way (@ways) {
            my $s = session(prepare => $way->[1]);
            tell_($way->[0], sub {
                my $h = $s->prepare('SELECT SHA2(b, 256), LENGTH(b), HEX(LEFT(b, 9)) FROM (SELECT ? AS b) x');
                $h->bind_param(1, $data, DBI::SQL_BLOB());
                $h->execute;
                $h->fetchall_arrayref;
            });
            tell_('back', sub { rows($s, "SELECT x'" . unpack('H*', $data) . "'") });
            tell_('afterwards', sub { value($s, 'SELECT 1') });
        }
    },
    big_result => sub {
        for my $way (@ways) {
            my $s = session(prepare => $way->[1]);
            # Row by row. With prepared statements, and DBD::MariaDB in any way, they lose step or hang.
            $s->{mysql_use_result} = 1 if $driver eq 'mysql' && !$way->[1];
            tell_($way->[0], sub {
                my $h = $s->prepare('SELECT f.n*100000+e.n*10000+d.n*1000+c.n*100+b.n*10+a.n AS id, REPEAT(CHAR(97+a.n), 20+e.n) AS word,
                    IF(b.n = 3, NULL, c.n/7) AS part FROM digits a, digits b, digits c, digits d, digits e, digits f WHERE f.n < 2 ORDER BY id');
                $h->execute;
                my ($n, $sum) = (0, Digest::SHA->new(256));
                while (my $row = $h->fetchrow_arrayref) { $n++; $sum->add(join '|', map { $_ // '-' } @$row) }
                "$n " . $sum->hexdigest;
            });
            tell_('afterwards', sub { value($s, 'SELECT 1') });
        }
    },
    multi_results => sub {
        my $s = session(multi => 1);
        my $every = sub {
            my $h = $s->prepare($_[0]);
            $h->execute;
            my @all;
            do { push @all, $h->{NUM_OF_FIELDS} ? $h->fetchall_arrayref : $h->rows } while $h->more_results;
            \@all;
        };
        my $lock = "$schema.m";
        tell_('statements', sub { $every->("SELECT 1 AS a; SELECT 'b' AS b, 2 AS c; DO 1; SELECT n FROM digits WHERE n < 2") });
        tell_('locks', sub { $every->("SELECT GET_LOCK('$lock', 0); SELECT IS_USED_LOCK('$lock') = CONNECTION_ID(); SELECT RELEASE_LOCK('$lock')") });
        tell_('call', sub { $every->('CALL results(3, @y)') });
        tell_('out', sub { value($s, 'SELECT @y') });
        tell_('error between', sub { $every->('SELECT 1 AS a; SELECT nosuch; SELECT 3') });
    },
    warnings => sub {
        my ($s) = @_;
        $s->do("SET SESSION sql_mode = ''");
        for my $sql ("INSERT INTO loaded VALUES ('12x', REPEAT('y', 30))", 'DROP TABLE IF EXISTS nosuch') {
            my $h = $s->prepare($sql);
            $h->execute;
            say_('count ' . $h->{"${prefix}_warning_count"});
            tell_('warnings', sub { rows($s, 'SHOW WARNINGS') });
        }
        $s->do('DELETE FROM loaded');
    },
    infile => sub {
        my ($s) = @_;
        my $large = join '', map { "$_,name $_\n" } 0 .. 99999;
        for my $text ("1,eins\n2,zw\xc3\xb6lf\n3,\\N\n", '', $large) {
            my $file = File::Temp->new;
            binmode $file;
            print $file $text;
            $file->flush;
            tell_('loaded', sub { $s->do("LOAD DATA LOCAL INFILE '$file' INTO TABLE loaded CHARACTER SET utf8mb4 FIELDS TERMINATED BY ','") });
            tell_('rows', sub { rows($s, 'SELECT COUNT(*), SUM(id), MAX(name), COUNT(name) FROM loaded') });
            $s->do('DELETE FROM loaded');
        }
        tell_('no file', sub { $s->do("LOAD DATA LOCAL INFILE '/nosuch/file' INTO TABLE loaded") });
        tell_('afterwards', sub { value($s, 'SELECT 1') });
    },
    compression => sub {
        my $s = session(compress => 1);
        tell_('large', sub { value($s, "SELECT REPEAT('x', 300000)") });
        tell_('up', sub { value($s, 'SELECT LENGTH(?)', 'y' x 300000) });
        tell_('more', sub { value($s, "SELECT SHA2('" . 'y' x (17 << 20) . "', 256)") });
    },
    reconnect => sub {
        my ($s) = @_;
        my $victim = session();
        my $id = value($victim, 'SELECT CONNECTION_ID()');
        $victim->do("DO GET_LOCK('$schema.k', 0)");
        tell_('held', sub { value($s, "SELECT IS_USED_LOCK('$schema.k') = $id") });
        $s->do("KILL $id");
        tell_('freed', sub { value($s, "SELECT GET_LOCK('$schema.k', 10)") });
        sleep 0.1;
        tell_('ping', sub { $victim->ping ? 'yes' : 'no' });
        my $back = session();
        $back->{"${prefix}_auto_reconnect"} = 1;
        $s->do('KILL ' . value($back, 'SELECT CONNECTION_ID()'));
        sleep 0.1;
        tell_('by itself', sub { value($back, 'SELECT 1') });
    },
    lock => sub {
        my ($a) = @_;
        my $lock = "$schema.lock";
        my $id = value($a, 'SELECT CONNECTION_ID()');
        my $b = session();
        # Both drivers have asynchronous queries, by different names.
        my $async = $driver eq 'mysql' ? 'async' : 'mariadb_async';
        my $waits = sub {
            my $h = $_[0]->prepare("SELECT GET_LOCK('$lock', 30)", { $async => 1 });
            $h->execute;
            sleep 0.2;
            sub { my $ready = "${prefix}_async_result"; $h->$ready; $h->fetchall_arrayref };
        };
        tell_('first', sub { value($a, 'SELECT GET_LOCK(?, 5)', $lock) });
        tell_('second at once', sub { value($b, 'SELECT GET_LOCK(?, 0)', $lock) });
        tell_('free', sub { value($b, 'SELECT IS_FREE_LOCK(?)', $lock) });
        tell_('used by first', sub { value($b, 'SELECT IS_USED_LOCK(?)', $lock) == $id ? 'yes' : 'no' });
        tell_('released by second', sub { value($b, 'SELECT RELEASE_LOCK(?)', $lock) });
        my $second = $waits->($b);
        tell_('released', sub { value($a, 'SELECT RELEASE_LOCK(?)', $lock) });
        tell_('second', $second);
        tell_('again', sub { value($b, 'SELECT GET_LOCK(?, 0)', $lock) });
        tell_('first after a second', sub { value($a, 'SELECT GET_LOCK(?, 1)', $lock) });
        my $first = $waits->($a);
        $b->disconnect;
        tell_('first when second closed', $first);
        tell_('all', sub { value($a, 'SELECT RELEASE_ALL_LOCKS()') });
        tell_('none', sub { value($a, 'SELECT RELEASE_LOCK(?)', $lock) });
        tell_('together', sub { rows($a, 'SELECT GET_LOCK(?, 0), GET_LOCK(?, 0), RELEASE_ALL_LOCKS()', "${lock}1", "${lock}2") });
    },
    busy => sub {
        my ($s) = @_;
        $s->do('CREATE TABLE busy (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)');
        $s->do('INSERT INTO busy (n) VALUES (0)');
        tell_('lock', sub { value($s, 'SELECT GET_LOCK(?, ?)', 'busy', 5) });
        my ($errors, $over) = (0, 0);
        for (1 .. 400) {
            $over = eval {
                $s->do('UPDATE busy SET n = n + 1');
                value($s, 'SELECT n > 510 FROM busy');
            } // do { $errors++; 0 };
            last if $over;
            sleep 0.05;
        }
        say_("over: $over, one error at most: " . ($errors < 2 ? 'yes' : 'no'));
        tell_('mine', sub { value($s, "SELECT IS_USED_LOCK('busy') = CONNECTION_ID()") });
        tell_('id', sub { value($s, 'SELECT id = LAST_INSERT_ID() FROM busy') });
        tell_('released', sub { value($s, 'SELECT RELEASE_LOCK(?)', 'busy') });
        $s->do('DROP TABLE busy');
    },
);

my $main = session();
open my $file, '<:utf8', dirname($0) . '/../setup.sql' or die "setup.sql: $!";
while (my $line = <$file>) {
    chomp $line;
    my ($flavour, $sql) = $line =~ /^(?:(mysql|mariadb): )?(.*)$/;
    $main->do($sql) if $sql ne '' && $sql !~ /^#/ && (!defined $flavour || $flavour eq $ENV{DB_FLAVOUR});
}
for my $name (qw(connect types prepared transactions errors big_packet big_result multi_results warnings infile compression reconnect lock busy)) {
    $case = $name;
    eval { $cases{$name}->(session()); 1 } or say_("error $@" =~ s/ at \S+ line.*//sr);
}
