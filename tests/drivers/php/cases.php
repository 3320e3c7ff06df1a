<?php
// The cases of PHP's clients.
declare(strict_types=1);
require __DIR__ . '/clients.php';

$name = $argv[1];
$schema = Client::env('SCHEMA');
$current = '';

function open(array $options = []): Client
{
    return Client::open($GLOBALS['name'], $options);
}

function say(string $what): void
{
    echo str_replace($GLOBALS['schema'], 'SCHEMA', "{$GLOBALS['current']}: $what"), "\n";
}

function show(mixed $v): string
{
    if (is_array($v)) {
        $parts = [];
        foreach ($v as $k => $one) {
            $parts[] = (is_int($k) ? '' : "$k: ") . show($one);
        }
        return '[' . implode(', ', $parts) . ']';
    }
    if (is_string($v)) {
        if (strlen($v) > 80) {
            return 'text:' . strlen($v) . ':' . hash('sha256', $v);
        }
        return preg_match('//u', $v) && !preg_match('/[\x00-\x1f]/', $v) ? "'$v'" : "x'" . bin2hex($v) . "'";
    }
    return var_export($v, true);
}

function tell(string $what, callable $work, ?Client $c = null): void
{
    try {
        say("$what = " . show($work()));
    } catch (Throwable $e) {
        say("$what = error " . ($c ?? $GLOBALS['main'])->fault($e));
    }
}

/** A session of a child's: what the piece of work answers comes back when it is done. */
function apart(callable $work): callable
{
    [$here, $there] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $pid = pcntl_fork();
    if ($pid === 0) {
        // Our parent's connections are not ours to close.
        $answer = show($work(fn () => fwrite($there, "ready\n")));
        fwrite($there, "$answer\n");
        posix_kill(getmypid(), SIGKILL);
    }
    fclose($there);
    fgets($here);
    usleep(200000);
    return function () use ($here, $pid) {
        $line = trim((string) fgets($here));
        pcntl_waitpid($pid, $status);
        return $line;
    };
}

function connect(Client $c): void
{
    tell('version', fn () => $c->value('SELECT VERSION()'));
    say('greeting = ' . $c->version());
    tell('TLS', fn () => $c->query("SHOW SESSION STATUS WHERE Variable_name = 'Ssl_cipher' AND Value <> ''") === [[]] ? 'no' : 'yes');
    tell('account', fn () => $c->value('SELECT CURRENT_USER()'));
    tell('character set', fn () => $c->query('SELECT @@character_set_client AS c, @@character_set_results AS r, @@collation_connection AS x'));
    foreach ([['password' => 'wrong'], ['schema' => 'nosuch'], ['user' => 'nosuch']] as $wrong) {
        tell('wrong ' . key($wrong), fn () => open($wrong)->value('SELECT 1'));
    }
}

function types(Client $c): void
{
    foreach (['numbers', 'texts', 'bytes', 'times', 'durations', 'others'] as $table) {
        // A type that mysqlnd does not know (VECTOR) leaves the connection unusable.
        $c = open();
        foreach (['text' => fn ($q) => $c->query($q), 'prepared' => fn ($q) => $c->prepared($q, [])] as $way => $run) {
            try {
                foreach ($run("SELECT * FROM $table ORDER BY id")[0] as $row) {
                    say("$table $way " . show($row));
                }
            } catch (Throwable $e) {
                say("$table $way error " . $c->fault($e));
            }
        }
    }
    $c = open();
    if ($c instanceof ByMysqli) {
        foreach ($c->my->query('SELECT * FROM numbers, texts, times LIMIT 0')->fetch_fields() as $f) {
            say("field $f->name $f->orgtable $f->length $f->type $f->flags $f->decimals $f->charsetnr");
        }
    } else {
        $s = $c->pdo->query('SELECT * FROM numbers, texts, times LIMIT 0');
        for ($i = 0; $i < $s->columnCount(); $i++) {
            say('field ' . json_encode($s->getColumnMeta($i)));
        }
    }
}

function prepared(Client $c): void
{
    global $name, $schema;
    $all = ['native' => $c] + ($name === 'pdo' ? ['emulated' => open(['emulate' => true])] : []);
    foreach ($all as $how => $c) {
        foreach ([1, -1.5, 'ü€😀', null, true, "\x00\xff'", '2024-02-29 12:34:56', PHP_INT_MAX] as $i => $v) {
            tell("$how parameter $i", fn () => $c->prepared("SELECT ? AS v$i, LENGTH(?) AS l", [$v, $v]));
        }
        tell("$how lock", fn () => $c->prepared('SELECT GET_LOCK(?, ?) AS got', ["$schema.p", 0]));
        tell("$how locks", fn () => $c->prepared('SELECT GET_LOCK(?, ?) AS got, IS_USED_LOCK(?) = CONNECTION_ID() AS mine, RELEASE_LOCK(?) AS released', ["$schema.p", 0, "$schema.p", "$schema.p"]));
        tell("$how all", fn () => $c->value('SELECT RELEASE_ALL_LOCKS()'));
        tell("$how insert", fn () => $c->prepared('INSERT INTO items (name, amount) VALUES (?, ?)', ['p', 7]));
        tell("$how update", fn () => $c->prepared('UPDATE items SET amount = ? WHERE name = ?', [8, 'p']));
        tell("$how delete", fn () => $c->prepared('DELETE FROM items WHERE name = ?', ['p']));
        tell("$how syntax", fn () => $c->prepared('SELEC ?', [1]));
        tell("$how missing", fn () => $c->prepared('SELECT * FROM nosuch WHERE id = ?', [1]));
    }
    if ($name === 'mysqli') {
        $s = $c->my->prepare('SELECT CONCAT(?) AS v');
        foreach ([1, 'two', null, 3.5] as $v) {
            tell('again', function () use ($s, $v) {
                $s->execute([$v]);
                return $s->get_result()->fetch_all();
            });
        }
        $s->close();
    }
}

function transactions(Client $c): void
{
    $other = open();
    $c->begin();
    tell('insert', fn () => $c->query("INSERT INTO items (name, amount) VALUES ('a', 1), ('b', 2)"));
    tell('not seen', fn () => $other->value('SELECT COUNT(*) FROM items'));
    $c->rollback();
    tell('rolled back', fn () => $c->value('SELECT COUNT(*) FROM items'));
    $c->begin();
    $c->query("INSERT INTO items (name, amount) VALUES ('a', 1)");
    $c->query('SAVEPOINT x');
    $c->query("INSERT INTO items (name, amount) VALUES ('b', 2)");
    $c->query('ROLLBACK TO SAVEPOINT x');
    $c->commit();
    tell('committed', fn () => $other->query('SELECT name, amount FROM items ORDER BY name'));
    $other->query('SET SESSION innodb_lock_wait_timeout = 1');
    $c->begin();
    $c->query("UPDATE items SET amount = 5 WHERE name = 'a'");
    tell('row lock', fn () => $other->query("UPDATE items SET amount = 6 WHERE name = 'a'"));
    $c->rollback();
    $c->query('DELETE FROM items');
    $other->close();
}

function errors(Client $c): void
{
    $c->query("INSERT INTO items (id, name) VALUES (1, 'taken')");
    foreach ([
        'SELEC 1', 'SELECT nosuch FROM items', 'SELECT * FROM nosuch', "INSERT INTO items (name) VALUES ('taken')",
        'INSERT INTO items (name) VALUES (NULL)', "INSERT INTO items (name, amount) VALUES ('x', 5000)",
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'öurs', MYSQL_ERRNO = 4321", 'CALL nosuch()',
        "SELECT GET_LOCK(REPEAT('x', 65), 0) AS x", 'SELECT GET_LOCK() AS x', "SELECT RELEASE_LOCK('nosuch') AS x",
        'SELECT GET_LOCK(NULL, 0) AS x', "DO RELEASE_LOCK('nosuch')", 'KILL 4294967295', 'SELECT (SELECT n FROM digits) AS x',
        'SELECT 18446744073709551615 + 1 AS x', "SELECT 'still here' AS x",
    ] as $sql) {
        tell($sql, fn () => $c->query($sql));
    }
    $c->query('DELETE FROM items');
}

function big_packet(Client $c): void
{
    $data = '';
    for ($i = 0; strlen($data) < 20 << 20; $i++) {
        $data .= hash('sha512', (string) $i, true);
    }
    say('sent = ' . hash('sha256', $data));
    tell('text', fn () => $c->query('SELECT SHA2(b, 256) AS there, b AS back FROM (SELECT ' . "x'" . bin2hex($data) . "' AS b) x"));
    tell('prepared', fn () => $c->prepared('SELECT SHA2(?, 256) AS there', [$data]));
    tell('prepared back', fn () => $c->prepared('SELECT ? AS back', [$data]));
    tell('afterwards', fn () => $c->value('SELECT 1'));
}

const MANY = 'SELECT f.n*100000+e.n*10000+d.n*1000+c.n*100+b.n*10+a.n AS id, REPEAT(CHAR(97+a.n), 20+e.n) AS word,
  IF(b.n = 3, NULL, c.n/7) AS part FROM digits a, digits b, digits c, digits d, digits e, digits f WHERE f.n < 2 ORDER BY id';

function summed(iterable $rows): string
{
    $sum = hash_init('sha256');
    $n = 0;
    foreach ($rows as $row) {
        $n++;
        hash_update($sum, implode('|', array_map('strval', array_values($row))));
    }
    return "$n " . hash_final($sum);
}

function big_result(Client $c): void
{
    tell('streamed', fn () => summed($c->stream(MANY)));
    tell('afterwards', fn () => $c->value('SELECT 1'));
}

function cursor(Client $c): void
{
    global $schema;
    if ($c instanceof ByMysqli) {
        tell('cursor', fn () => summed($c->cursor('SELECT a.n, b.n, c.n FROM digits a, digits b, digits c ORDER BY 1, 2, 3')));
        tell('lock', fn () => summed($c->cursor('SELECT GET_LOCK(?, 0) AS x', ["$schema.c"])));
        tell('locks', fn () => summed($c->cursor('SELECT IS_USED_LOCK(?) = CONNECTION_ID() AS x UNION ALL SELECT RELEASE_LOCK(?)', ["$schema.c", "$schema.c"])));
        tell('afterwards', fn () => $c->value('SELECT RELEASE_ALL_LOCKS()'));
    }
}

function multi_results(Client $c): void
{
    global $schema;
    $c = Client::open($GLOBALS['name'], ['emulate' => true]);
    tell('statements', fn () => $c->query("SELECT 1 AS a; SELECT 'b' AS b, 2 AS c; DO 1; SELECT n FROM digits WHERE n < 2"));
    tell('error between', fn () => $c->query('SELECT 1 AS a; SELECT nosuch; SELECT 3'));
    tell('locks', fn () => $c->query("SELECT GET_LOCK('$schema.m', 0) AS a; SELECT IS_USED_LOCK('$schema.m') = CONNECTION_ID() AS b; SELECT RELEASE_LOCK('$schema.m') AS c"));
    tell('call', fn () => $c->query('CALL results(3, @y)'));
    tell('out', fn () => $c->value('SELECT @y'));
    $c->close();
    $c = open();
    tell('prepared call', fn () => $c->prepared('CALL results(?, @y)', [2]));
    tell('afterwards', fn () => $c->value('SELECT 1'));
}

function warnings(Client $c): void
{
    $c->query("SET SESSION sql_mode = ''");
    foreach (["INSERT INTO loaded VALUES ('12x', REPEAT('y', 30))", 'DROP TABLE IF EXISTS nosuch', "SELECT CAST('1x' AS SIGNED) AS x", 'DO 1'] as $sql) {
        $c->query($sql);
        if ($c instanceof ByMysqli) {
            say("count {$c->my->warning_count}");
            for ($w = $c->my->get_warnings(); $w;) {
                say("$w->errno $w->sqlstate $w->message");
                if (!$w->next()) {
                    break;
                }
            }
        } else {
            tell('warnings', fn () => $c->query('SHOW WARNINGS'));
        }
    }
    $c->query('DELETE FROM loaded');
}

function infile(Client $c): void
{
    $file = tempnam(sys_get_temp_dir(), 'in');
    $large = implode('', array_map(fn ($i) => "$i,name $i\n", range(0, 99999)));
    foreach (["1,eins\n2,zwölf\n3,\\N\n", '', $large] as $text) {
        file_put_contents($file, $text);
        tell('loaded', fn () => $c->query("LOAD DATA LOCAL INFILE '$file' INTO TABLE loaded CHARACTER SET utf8mb4 FIELDS TERMINATED BY ','"));
        tell('rows', fn () => $c->query('SELECT COUNT(*) AS c, SUM(id) AS s, MAX(name) AS m, COUNT(name) AS n FROM loaded'));
        $c->query('DELETE FROM loaded');
    }
    unlink($file);
    tell('no file', fn () => $c->query("LOAD DATA LOCAL INFILE '/nosuch/file' INTO TABLE loaded"));
    tell('afterwards', fn () => $c->value('SELECT 1'));
}

function compression(Client $c): void
{
    $c = open(['compress' => true]);
    tell('large', fn () => $c->value("SELECT REPEAT('x', 300000)"));
    tell('up', fn () => $c->value('SELECT LENGTH(?)', [str_repeat('y', 300000)]));
    tell('up', fn () => $c->value("SELECT SHA2('" . str_repeat('y', 17 << 20) . "', 256)"));
    tell('many', fn () => $c->query('SELECT COUNT(*) AS c, SUM(a.n) AS s FROM digits a, digits b, digits c'));
}

function reconnect(Client $c): void
{
    global $schema;
    $victim = open();
    $id = $victim->value('SELECT CONNECTION_ID()');
    $victim->query("DO GET_LOCK('$schema.k', 0)");
    tell('held', fn () => $c->value("SELECT IS_USED_LOCK('$schema.k') = $id"));
    $c->query("KILL $id");
    tell('freed', fn () => $c->value("SELECT GET_LOCK('$schema.k', 10)"));
    usleep(100000);
    tell('killed', fn () => @$victim->value('SELECT 1'));
    $self = open();
    tell('by itself', fn () => @$self->query('KILL CONNECTION_ID()'));
    tell('again', fn () => open()->value('SELECT 1'));
}

function change_user(Client $c): void
{
    global $schema;
    if (!$c instanceof ByMysqli) {
        return;
    }
    $other = open();
    $id = $c->value('SELECT CONNECTION_ID()');
    $c->query('SET @x = 1');
    $c->query('CREATE TEMPORARY TABLE t (i INT)');
    $c->query("DO GET_LOCK('$schema.r', 0)");
    tell('other', fn () => $other->value("SELECT GET_LOCK('$schema.r', 0)"));
    tell('change', fn () => $c->my->change_user(Client::env('USER'), Client::env('PASSWORD'), $schema));
    tell('other afterwards', fn () => $other->value("SELECT GET_LOCK('$schema.r', 10)"));
    tell('variable', fn () => $c->value('SELECT @x'));
    tell('table', fn () => $c->query('SELECT * FROM t'));
    tell('same connection', fn () => $c->value('SELECT CONNECTION_ID()') === $id);
    tell('lock', fn () => $c->value("SELECT GET_LOCK('$schema.r', 0)"));
    tell('wrong', fn () => $c->my->change_user(Client::env('USER'), 'wrong', $schema));
}

function lock(Client $a): void
{
    global $schema;
    $lock = "$schema.lock";
    $id = $a->value('SELECT CONNECTION_ID()');
    $b = open();
    tell('first', fn () => $a->value('SELECT GET_LOCK(?, 5)', [$lock]));
    tell('second at once', fn () => $b->value('SELECT GET_LOCK(?, 0)', [$lock]));
    tell('free', fn () => $b->value('SELECT IS_FREE_LOCK(?)', [$lock]));
    tell('used by first', fn () => (int) $b->value('SELECT IS_USED_LOCK(?)', [$lock]) === (int) $id);
    tell('released by second', fn () => $b->value('SELECT RELEASE_LOCK(?)', [$lock]));
    $second = apart(function ($ready) use ($lock) {
        $c = open();
        $ready();
        return [$c->value('SELECT GET_LOCK(?, 30)', [$lock]), $c->value("SELECT RELEASE_LOCK('$lock')")];
    });
    tell('released', fn () => $a->value('SELECT RELEASE_LOCK(?)', [$lock]));
    say('second = ' . $second());
    if ($b instanceof ByMysqli) {
        $a->query("DO GET_LOCK('$lock', 0)");
        $b->my->query("SELECT GET_LOCK('$lock', 30)", MYSQLI_ASYNC);
        usleep(200000);
        $a->query("DO RELEASE_LOCK('$lock')");
        tell('asynchronous', fn () => $b->my->reap_async_query()->fetch_all());
        $b->query("DO RELEASE_LOCK('$lock')");
    }
    tell('again', fn () => $b->value('SELECT GET_LOCK(?, 0)', [$lock]));
    tell('first after a second', fn () => $a->value('SELECT GET_LOCK(?, 1)', [$lock]));
    $first = apart(function ($ready) use ($lock) {
        $c = open();
        $ready();
        return [$c->value('SELECT GET_LOCK(?, 30)', [$lock]), $c->value('SELECT RELEASE_ALL_LOCKS()')];
    });
    $b->close();
    say('first when second closed = ' . $first());
    tell('none', fn () => $a->value('SELECT RELEASE_LOCK(?)', [$lock]));
    tell('together', fn () => $a->prepared('SELECT GET_LOCK(?, 0) AS a, GET_LOCK(?, 0) AS b, RELEASE_ALL_LOCKS() AS n', ["{$lock}1", "{$lock}2"]));
}

function busy(Client $a): void
{
    $a->query('CREATE TABLE busy (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)');
    $a->query('INSERT INTO busy (n) VALUES (0)');
    tell('lock', fn () => $a->value('SELECT GET_LOCK(?, 5)', ['busy']));
    [$errors, $over] = [0, false];
    for ($round = 0; $round < 400 && !$over; $round++) {
        try {
            $a->query('UPDATE busy SET n = n + 1');
            $over = (int) $a->value('SELECT n > 510 FROM busy') === 1;
        } catch (Throwable) {
            $errors++;
        }
        usleep(50000);
    }
    say('over: ' . show($over) . ', one error at most: ' . show($errors < 2));
    tell('mine', fn () => $a->value("SELECT IS_USED_LOCK('busy') = CONNECTION_ID()"));
    tell('id', fn () => $a->value('SELECT id = LAST_INSERT_ID() FROM busy'));
    tell('released', fn () => $a->value('SELECT RELEASE_LOCK(?)', ['busy']));
    $a->query('DROP TABLE busy');
}

$current = 'setup';
$main = open();
foreach (file(__DIR__ . '/../setup.sql', FILE_IGNORE_NEW_LINES) as $line) {
    preg_match('/^(?:(mysql|mariadb): )?(.*)$/', $line, $m);
    if ($m[2] !== '' && $m[2][0] !== '#' && ($m[1] === '' || $m[1] === Client::env('FLAVOUR'))) {
        $main->query($m[2]);
    }
}
foreach (['connect', 'types', 'prepared', 'transactions', 'errors', 'big_packet', 'big_result', 'cursor', 'multi_results', 'warnings', 'infile', 'compression', 'reconnect', 'change_user', 'lock', 'busy'] as $case) {
    $current = $case;
    try {
        $case(open());
    } catch (Throwable $e) {
        say('error ' . $main->fault($e) . ' ' . get_class($e));
    }
}
