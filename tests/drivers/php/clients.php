<?php
// PDO and mysqli, as the cases use them.
declare(strict_types=1);

abstract class Client
{
    public static function env(string $name): string
    {
        return (string) getenv("DB_$name");
    }

    /** All results of a statement: rows, or the number of rows that it changed. */
    abstract public function query(string $sql): array;

    abstract public function prepared(string $sql, array $values): array;

    /** Rows as they come. */
    abstract public function stream(string $sql): iterable;

    abstract public function begin(): void;

    abstract public function commit(): void;

    abstract public function rollback(): void;

    abstract public function version(): string;

    abstract public function fault(Throwable $e): string;

    abstract public function close(): void;

    public function value(string $sql, ?array $values = null): mixed
    {
        $results = $values === null ? $this->query($sql) : $this->prepared($sql, $values);
        return array_values($results[0][0])[0];
    }

    public static function open(string $name, array $options = []): Client
    {
        return $name === 'pdo' ? new ByPdo($options) : new ByMysqli($options);
    }
}

final class ByPdo extends Client
{
    public ?PDO $pdo;

    public function __construct(array $options)
    {
        $schema = $options['schema'] ?? self::env('SCHEMA');
        $attributes = [
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
            PDO::ATTR_EMULATE_PREPARES => $options['emulate'] ?? false,
            PDO::MYSQL_ATTR_LOCAL_INFILE => true,
            PDO::MYSQL_ATTR_COMPRESS => $options['compress'] ?? false,
        ];
        if (self::env('TLS') === 'on') {
            $attributes[PDO::MYSQL_ATTR_SSL_CA] = self::env('CA');
            $attributes[PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT] = true;
        }
        $this->pdo = new PDO(
            'mysql:host=' . self::env('HOST') . ';port=' . self::env('PORT') . ";dbname=$schema;charset=utf8mb4",
            $options['user'] ?? self::env('USER'),
            $options['password'] ?? self::env('PASSWORD'),
            $attributes
        );
    }

    private function results(PDOStatement|false $s): array
    {
        if (!$s) {
            throw new PDOException('no result');
        }
        $all = [];
        do {
            $all[] = $s->columnCount() ? $s->fetchAll() : [['changed' => $s->rowCount()]];
        } while ($s->nextRowset());
        return $all;
    }

    public function query(string $sql): array
    {
        return $this->results($this->pdo->query($sql));
    }

    public function prepared(string $sql, array $values): array
    {
        $s = $this->pdo->prepare($sql);
        foreach ($values as $i => $v) {
            $type = match (true) {
                is_int($v) => PDO::PARAM_INT,
                is_null($v) => PDO::PARAM_NULL,
                is_bool($v) => PDO::PARAM_BOOL,
                default => PDO::PARAM_STR,
            };
            $s->bindValue($i + 1, $v, $type);
        }
        $s->execute();
        return $this->results($s);
    }

    public function stream(string $sql): iterable
    {
        $this->pdo->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, false);
        $s = $this->pdo->query($sql);
        yield from $s;
        $s->closeCursor();
        $this->pdo->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, true);
    }

    public function begin(): void
    {
        $this->pdo->beginTransaction();
    }

    public function commit(): void
    {
        $this->pdo->commit();
    }

    public function rollback(): void
    {
        $this->pdo->rollBack();
    }

    public function version(): string
    {
        return $this->pdo->getAttribute(PDO::ATTR_SERVER_VERSION);
    }

    public function fault(Throwable $e): string
    {
        return $e instanceof PDOException && $e->errorInfo
            ? implode(' ', array_map('strval', $e->errorInfo))
            : $e->getMessage();
    }

    public function close(): void
    {
        $this->pdo = null;
    }
}

final class ByMysqli extends Client
{
    public mysqli $my;

    public function __construct(array $options)
    {
        mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
        $this->my = mysqli_init();
        $this->my->options(MYSQLI_OPT_LOCAL_INFILE, 1);
        $flags = ($options['compress'] ?? false) ? MYSQLI_CLIENT_COMPRESS : 0;
        if (self::env('TLS') === 'on') {
            $this->my->ssl_set(null, null, self::env('CA'), null, null);
            $flags |= MYSQLI_CLIENT_SSL;
        }
        $this->my->real_connect(
            self::env('HOST'),
            $options['user'] ?? self::env('USER'),
            $options['password'] ?? self::env('PASSWORD'),
            $options['schema'] ?? self::env('SCHEMA'),
            (int) self::env('PORT'),
            null,
            $flags
        );
        $this->my->set_charset('utf8mb4');
    }

    public function query(string $sql): array
    {
        $this->my->multi_query($sql);
        $all = [];
        do {
            $r = $this->my->store_result();
            $all[] = $r ? $r->fetch_all(MYSQLI_ASSOC) : [['changed' => $this->my->affected_rows]];
        } while ($this->my->more_results() && $this->my->next_result());
        return $all;
    }

    private function executed(string $sql, array $values, bool $cursor = false): mysqli_stmt
    {
        $s = $this->my->prepare($sql);
        if ($cursor) {
            $s->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
        }
        if ($values) {
            $types = array_map(fn ($v) => is_int($v) ? 'i' : (is_float($v) ? 'd' : (is_string($v) && strlen($v) > 1000000 ? 'b' : 's')), $values);
            $bound = array_map(fn ($v, $t) => $t === 'b' ? null : $v, $values, $types);
            $s->bind_param(implode('', $types), ...$bound);
            foreach ($types as $i => $t) {
                foreach ($t === 'b' ? str_split($values[$i], 1 << 20) : [] as $piece) {
                    $s->send_long_data($i, $piece);
                }
            }
        }
        $s->execute();
        return $s;
    }

    public function prepared(string $sql, array $values): array
    {
        $s = $this->executed($sql, $values);
        $all = [];
        do {
            $r = $s->get_result();
            $all[] = $r ? $r->fetch_all(MYSQLI_ASSOC) : [['changed' => $s->affected_rows]];
        } while ($s->more_results() && $s->next_result());
        $s->close();
        return $all;
    }

    /** By a cursor at the server. */
    public function cursor(string $sql, array $values = []): iterable
    {
        $s = $this->executed($sql, $values, true);
        $r = $s->result_metadata();
        $row = array_fill(0, $r->field_count, null);
        $s->bind_result(...$row);
        while ($s->fetch()) {
            yield array_map(fn ($v) => $v, $row);
        }
        $s->close();
    }

    public function stream(string $sql): iterable
    {
        $r = $this->my->query($sql, MYSQLI_USE_RESULT);
        yield from $r;
        $r->free();
    }

    public function begin(): void
    {
        $this->my->begin_transaction();
    }

    public function commit(): void
    {
        $this->my->commit();
    }

    public function rollback(): void
    {
        $this->my->rollback();
    }

    public function version(): string
    {
        return $this->my->server_info;
    }

    public function fault(Throwable $e): string
    {
        return $e instanceof mysqli_sql_exception
            ? $e->getCode() . ' ' . $e->getSqlState() . ' ' . $e->getMessage()
            : $e->getMessage();
    }

    public function close(): void
    {
        $this->my->close();
    }
}
