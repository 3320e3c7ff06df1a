import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.ByteArrayInputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** The cases of the drivers for Java. */
public final class Cases {
  private static final String SCHEMA = Client.ENV.get("DB_SCHEMA");
  private static final String[] EMULATED = {"useServerPrepStmts=false"};
  private static final String[] PREPARED = {"useServerPrepStmts=true"};
  private static Client client;
  private static String current;

  interface Work {
    void run(Connection connection) throws Exception;
  }

  // --- printing ----------------------------------------------------------------

  static void say(String what) {
    System.out.println((current + ": " + what).replace(SCHEMA, "SCHEMA"));
  }

  static void tell(String what, Callable<Object> work) {
    String told;
    try {
      told = show(work.call());
    } catch (Exception e) {
      told = fault(e);
    }
    say(what + " = " + told);
  }

  static String fault(Throwable e) {
    if (e instanceof SQLException s) {
      String text = String.valueOf(s.getMessage()).lines().findFirst().orElse("").replaceAll("\\(conn=\\d+\\) ", "");
      return "error " + s.getErrorCode() + " " + s.getSQLState() + " " + s.getClass().getSimpleName() + " " + text;
    }
    return "error " + e;
  }

  static String hash(byte[] data) throws Exception {
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(data));
  }

  static String show(Object value) throws Exception {
    if (value == null) {
      return "NULL";
    }
    if (value instanceof byte[] b) {
      return b.length > 40 ? "bytes:" + b.length + ":" + hash(b) : "x'" + HexFormat.of().formatHex(b) + "'";
    }
    if (value instanceof int[] many) {
      return Arrays.toString(many);
    }
    if (value instanceof float[] many) {
      return Arrays.toString(many);
    }
    if (value instanceof String s) {
      return s.length() > 80 ? "text:" + s.length() + ":" + hash(s.getBytes(StandardCharsets.UTF_8)) : '"' + s + '"';
    }
    if (value instanceof Rows r) {
      return r.text;
    }
    return value.getClass().getSimpleName() + "(" + value + ")";
  }

  record Rows(String text) {}

  static String row(ResultSet r) throws Exception {
    var out = new StringBuilder("[");
    var meta = r.getMetaData();
    for (int i = 1; i <= meta.getColumnCount(); i++) {
      out.append(i > 1 ? " " : "").append(meta.getColumnLabel(i)).append(':');
      try {
        out.append(show(r.getObject(i)));
      } catch (SQLException e) {
        out.append(fault(e));
      }
    }
    return out.append("]").toString();
  }

  static Rows rows(ResultSet r) throws Exception {
    var out = new StringBuilder();
    while (r.next()) {
      out.append(row(r));
    }
    return new Rows(out.toString());
  }

  /** All results of a statement that was executed. */
  static Rows results(Statement s, boolean first) throws Exception {
    var out = new StringBuilder();
    boolean more = first;
    while (true) {
      if (more) {
        try (ResultSet r = s.getResultSet()) {
          out.append(rows(r).text).append("; ");
        }
      } else if (s.getUpdateCount() != -1) {
        out.append(s.getUpdateCount()).append(" rows; ");
      } else {
        return new Rows(out.toString());
      }
      more = s.getMoreResults();
    }
  }

  static Rows run(Connection c, String sql) throws Exception {
    try (Statement s = c.createStatement()) {
      return results(s, s.execute(sql));
    }
  }

  static Rows run(Connection c, String sql, Object... values) throws Exception {
    try (PreparedStatement s = c.prepareStatement(sql)) {
      for (int i = 0; i < values.length; i++) {
        s.setObject(i + 1, values[i]);
      }
      return results(s, s.execute());
    }
  }

  static Object value(Connection c, String sql, Object... values) throws Exception {
    try (PreparedStatement s = c.prepareStatement(sql)) {
      for (int i = 0; i < values.length; i++) {
        s.setObject(i + 1, values[i]);
      }
      try (ResultSet r = s.executeQuery()) {
        r.next();
        return r.getObject(1);
      }
    }
  }

  // --- the cases ---------------------------------------------------------------

  static void connect(Connection c) throws Exception {
    var meta = c.getMetaData();
    say("greeting = " + meta.getDatabaseProductVersion());
    tell("version", () -> value(c, "SELECT VERSION()"));
    tell("TLS", () -> run(c, "SHOW SESSION STATUS WHERE Variable_name = 'Ssl_cipher' AND Value <> ''").text.isEmpty() ? "no" : "yes");
    tell("account", () -> value(c, "SELECT CURRENT_USER()"));
    tell("character set", () -> run(c, "SELECT @@character_set_client AS c, @@character_set_results AS r, @@collation_connection AS x, @@sql_mode AS m"));
    tell("valid", () -> c.isValid(5));
    tell("tables", () -> rows(meta.getColumns(SCHEMA, null, "items", null)).text.length() > 0);
    tell("keys", () -> rows(meta.getPrimaryKeys(SCHEMA, null, "items")));
    tell("wrong password", () -> DriverManager.getConnection(client.url(SCHEMA), Client.USER, "wrong").isValid(5));
    tell("wrong user", () -> DriverManager.getConnection(client.url(SCHEMA), "nosuch", Client.PASSWORD).isValid(5));
    tell("wrong schema", () -> DriverManager.getConnection(client.url("nosuch"), Client.USER, Client.PASSWORD).isValid(5));
  }

  static void types(Connection unused) throws Exception {
    for (String[] how : List.of(EMULATED, PREPARED)) {
      try (Connection c = client.open(how)) {
        for (String table : List.of("numbers", "texts", "bytes", "times", "durations", "others")) {
          try (PreparedStatement s = c.prepareStatement("SELECT * FROM " + table + " WHERE id > ? ORDER BY id")) {
            s.setInt(1, 0);
            try (ResultSet r = s.executeQuery()) {
              var meta = r.getMetaData();
              for (int i = 1; i <= meta.getColumnCount(); i++) {
                say(table + " " + meta.getColumnName(i) + " " + meta.getColumnTypeName(i) + " " + meta.getColumnType(i) + " "
                    + meta.getPrecision(i) + " " + meta.getScale(i) + " " + meta.isNullable(i) + " " + meta.getColumnClassName(i));
              }
              while (r.next()) {
                say(table + " " + how[0] + " " + row(r));
              }
            }
          } catch (SQLException | RuntimeException e) {
            say(table + " " + how[0] + " " + fault(e));
          }
        }
      }
    }
  }

  static void prepared(Connection unused) throws Exception {
    for (String[] how : List.of(EMULATED, PREPARED)) {
      try (Connection c = client.open(how[0], "cachePrepStmts=true", "rewriteBatchedStatements=true")) {
        int i = 0;
        for (Object v : new Object[] {1, -1.5, "ü€😀", null, true, new byte[] {0, -1, 39}, new Timestamp(1709210096789L), 9007199254740993L, new BigDecimal("1.10")}) {
          int n = i++;
          tell("parameter " + n, () -> run(c, "SELECT ? AS v" + n + ", LENGTH(?) AS l", v, v));
        }
        for (Object v : new Object[] {1, "two", null, 3.5}) {
          tell("another type", () -> run(c, "SELECT CONCAT(?) AS v", v));
        }
        for (int n = 0; n < 3; n++) {
          String name = SCHEMA + ".p" + n;
          tell("lock", () -> run(c, "SELECT GET_LOCK(?, ?) AS got", name, 0));
          tell("lock", () -> run(c, "SELECT GET_LOCK(?, ?) AS got, IS_USED_LOCK(?) = CONNECTION_ID() AS mine, RELEASE_LOCK(?) AS released", name, 0, name, name));
        }
        tell("all", () -> value(c, "SELECT RELEASE_ALL_LOCKS()"));
        try (PreparedStatement s = c.prepareStatement("INSERT INTO items (name, amount) VALUES (?, ?)", Statement.RETURN_GENERATED_KEYS)) {
          for (int n = 0; n < 5; n++) {
            s.setString(1, "p" + n);
            s.setInt(2, n);
            s.addBatch();
          }
          tell("batch", s::executeBatch);
          tell("keys", () -> rows(s.getGeneratedKeys()).text.length() > 0);
        }
        try (PreparedStatement s = c.prepareStatement("SELECT GET_LOCK(?, 0)")) {
          for (String name : List.of("a", "b")) {
            s.setString(1, SCHEMA + name);
            s.addBatch();
          }
          tell("batch of locks", s::executeBatch);
        }
        tell("all", () -> value(c, "SELECT RELEASE_ALL_LOCKS()"));
        tell("update", () -> run(c, "UPDATE items SET amount = ? WHERE name < ?", 8, "p3"));
        tell("delete", () -> run(c, "DELETE FROM items WHERE name <> ?", ""));
        tell("syntax", () -> run(c, "SELEC ?", 1));
        tell("missing", () -> run(c, "SELECT * FROM nosuch WHERE id = ?", 1));
      }
    }
  }

  static void transactions(Connection c) throws Exception {
    try (Connection other = client.open()) {
      c.setAutoCommit(false);
      tell("insert", () -> run(c, "INSERT INTO items (name, amount) VALUES ('a', 1), ('b', 2)"));
      tell("not seen", () -> value(other, "SELECT COUNT(*) FROM items"));
      c.rollback();
      tell("rolled back", () -> value(c, "SELECT COUNT(*) FROM items"));
      run(c, "INSERT INTO items (name, amount) VALUES ('a', 1)");
      var point = c.setSavepoint("x");
      run(c, "INSERT INTO items (name, amount) VALUES ('b', 2)");
      c.rollback(point);
      c.commit();
      tell("committed", () -> run(other, "SELECT name, amount FROM items ORDER BY name"));
      run(other, "SET SESSION innodb_lock_wait_timeout = 1");
      run(c, "UPDATE items SET amount = 5 WHERE name = 'a'");
      tell("row lock", () -> run(other, "UPDATE items SET amount = 6 WHERE name = 'a'"));
      c.rollback();
      c.setReadOnly(true);
      tell("read only", () -> run(c, "DELETE FROM items"));
      c.rollback();
      c.setReadOnly(false);
      c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
      tell("isolation", c::getTransactionIsolation);
      run(c, "DELETE FROM items");
      c.commit();
      c.setAutoCommit(true);
    }
  }

  static void errors(Connection c) throws Exception {
    run(c, "INSERT INTO items (id, name) VALUES (1, 'taken')");
    for (String sql : List.of("SELEC 1", "SELECT nosuch FROM items", "SELECT * FROM nosuch", "INSERT INTO items (name) VALUES ('taken')",
        "INSERT INTO items (name) VALUES (NULL)", "INSERT INTO items (name, amount) VALUES ('x', 5000)", "SELECT 1; SELECT 2",
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'öurs', MYSQL_ERRNO = 4321", "CALL nosuch()", "SELECT GET_LOCK(REPEAT('x', 65), 0) AS x",
        "SELECT GET_LOCK() AS x", "SELECT RELEASE_LOCK('nosuch') AS x", "SELECT GET_LOCK(NULL, 0) AS x", "DO RELEASE_LOCK('nosuch')",
        "KILL 4294967295", "SELECT (SELECT n FROM digits) AS x", "SELECT 18446744073709551615 + 1 AS x", "SELECT 'still here' AS x")) {
      tell(sql, () -> run(c, sql));
    }
    try (Statement s = c.createStatement()) {
      s.setQueryTimeout(1);
      tell("too slow", () -> results(s, s.execute("SELECT SLEEP(20)")));
    }
    tell("afterwards", () -> value(c, "SELECT 1"));
    run(c, "DELETE FROM items");
  }

  static void bigPacket(Connection unused) throws Exception {
    byte[] data = new byte[20 << 20];
    for (int i = 0; i < data.length; i++) {
      data[i] = (byte) (i * 0x9e3779b1 >>> 13);
    }
    say("sent = " + hash(data));
    try (Connection c = client.open(EMULATED)) {
      tell("text", () -> run(c, "SELECT SHA2(b, 256) AS there, LENGTH(b) AS l, b AS back FROM (SELECT ? AS b) x", data));
    }
    try (Connection c = client.open(PREPARED)) {
      tell("prepared", () -> run(c, "SELECT SHA2(?, 256) AS there, ? AS back", data, data));
      try (PreparedStatement s = c.prepareStatement("SELECT SHA2(?, 256) AS there")) {
        s.setBinaryStream(1, new ByteArrayInputStream(data));
        tell("stream", () -> results(s, s.execute()));
      }
      tell("afterwards", () -> value(c, "SELECT 1"));
    }
  }

  static final String MANY = "SELECT f.n*100000+e.n*10000+d.n*1000+c.n*100+b.n*10+a.n AS id, REPEAT(CHAR(97+a.n), 20+e.n) AS word,"
      + " IF(b.n = 3, NULL, c.n/7) AS part FROM digits a, digits b, digits c, digits d, digits e, digits f WHERE f.n < ? ORDER BY id";

  static void read(Connection c, int size) throws Exception {
    try (PreparedStatement s = c.prepareStatement(MANY, ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
      s.setFetchSize(size);
      s.setInt(1, 2);
      var sum = MessageDigest.getInstance("SHA-256");
      int n = 0;
      try (ResultSet r = s.executeQuery()) {
        for (; r.next(); n++) {
          sum.update((r.getLong(1) + r.getString(2) + r.getBigDecimal(3)).getBytes(StandardCharsets.UTF_8));
        }
      }
      say(n + " rows, " + HexFormat.of().formatHex(sum.digest()));
      try (ResultSet r = s.executeQuery()) {
        r.next();
        say("left at " + r.getLong(1));
      }
    }
    tell("afterwards", () -> value(c, "SELECT 1"));
  }

  static void bigResult(Connection unused) throws Exception {
    for (String[] how : List.of(EMULATED, PREPARED)) {
      try (Connection c = client.open(how)) {
        read(c, client.streaming());
      }
    }
  }

  static void cursor(Connection unused) throws Exception {
    if (client.cursor() == null) {
      return;
    }
    try (Connection c = client.open(client.cursor())) {
      read(c, 7000);
      try (PreparedStatement s = c.prepareStatement("SELECT GET_LOCK(?, 0) AS x UNION ALL SELECT IS_FREE_LOCK(?) UNION ALL SELECT RELEASE_LOCK(?)");
          PreparedStatement bare = c.prepareStatement("SELECT GET_LOCK(?, 0)")) {
        bare.setFetchSize(1);
        bare.setString(1, SCHEMA + ".c");
        tell("lock", () -> results(bare, bare.execute()));
        s.setFetchSize(1);
        for (int i = 1; i <= 3; i++) {
          s.setString(i, SCHEMA + ".c");
        }
        tell("locks", () -> results(s, s.execute()));
        tell("all", () -> value(c, "SELECT RELEASE_ALL_LOCKS()"));
      }
    }
  }

  static void multiResults(Connection unused) throws Exception {
    try (Connection c = client.open("allowMultiQueries=true")) {
      tell("statements", () -> run(c, "SELECT 1 AS a; SELECT 'b' AS b, 2 AS c; DO 1; SELECT n FROM digits WHERE n < 2"));
      tell("error between", () -> run(c, "SELECT 1 AS a; SELECT nosuch; SELECT 3"));
      String lock = SCHEMA + ".m";
      tell("locks", () -> run(c, "SELECT GET_LOCK('" + lock + "', 0) AS a; SELECT IS_USED_LOCK('" + lock + "') = CONNECTION_ID() AS b; SELECT RELEASE_LOCK('" + lock + "') AS c"));
      try (CallableStatement s = c.prepareCall("{CALL results(?, ?)}")) {
        s.setInt(1, 3);
        s.registerOutParameter(2, Types.INTEGER);
        tell("call", () -> results(s, s.execute()));
        tell("out", () -> s.getInt(2));
      }
      tell("afterwards", () -> value(c, "SELECT 1"));
    }
  }

  static void warnings(Connection c) throws Exception {
    run(c, "SET SESSION sql_mode = ''");
    try (Statement s = c.createStatement()) {
      for (String sql : List.of("INSERT INTO loaded VALUES ('12x', REPEAT('y', 30))", "DROP TABLE IF EXISTS nosuch", "SELECT CAST('1x' AS SIGNED)", "DO 1")) {
        s.execute(sql);
        for (SQLWarning w = s.getWarnings(); w != null; w = w.getNextWarning()) {
          say(w.getErrorCode() + " " + w.getSQLState() + " " + w.getMessage());
        }
      }
    }
    run(c, "DELETE FROM loaded");
  }

  static void infile(Connection c) throws Exception {
    var large = new StringBuilder();
    for (int i = 0; i < 100000; i++) {
      large.append(i).append(",name ").append(i).append('\n');
    }
    for (String text : List.of("1,eins\n2,zwölf\n3,\\N\n", "", large.toString())) {
      try (Statement s = c.createStatement()) {
        client.infile(s, new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
        tell("loaded", () -> s.executeUpdate("LOAD DATA LOCAL INFILE 'data' INTO TABLE loaded CHARACTER SET utf8mb4 FIELDS TERMINATED BY ','"));
      }
      tell("rows", () -> run(c, "SELECT COUNT(*) AS c, SUM(id) AS s, MAX(name) AS m, COUNT(name) AS n FROM loaded"));
      run(c, "DELETE FROM loaded");
    }
  }

  static void compression(Connection unused) throws Exception {
    try (Connection c = client.open(client.compression())) {
      tell("large", () -> value(c, "SELECT REPEAT('x', 300000)"));
      tell("up", () -> value(c, "SELECT LENGTH(?)", "y".repeat(300000)));
      tell("up", () -> value(c, "SELECT SHA2(?, 256)", "y".repeat(17 << 20)));
      tell("many", () -> run(c, "SELECT COUNT(*) AS c, SUM(a.n) AS s FROM digits a, digits b, digits c"));
    }
  }

  static void reconnect(Connection c) throws Exception {
    try (Connection victim = client.open()) {
      Object id = value(victim, "SELECT CONNECTION_ID()");
      value(victim, "SELECT GET_LOCK(?, 0)", SCHEMA + ".k");
      tell("held", () -> value(c, "SELECT IS_USED_LOCK(?) = " + id, SCHEMA + ".k"));
      run(c, "KILL " + id);
      tell("freed", () -> value(c, "SELECT GET_LOCK(?, 10)", SCHEMA + ".k"));
      Thread.sleep(100);
      try {
        value(victim, "SELECT 1");
        say("alive");
      } catch (SQLException e) {
        say("killed " + e.getSQLState());
      }
      say("valid = " + victim.isValid(5) + ", closed = " + victim.isClosed());
    }
    try (Connection self = client.open()) {
      tell("by itself", () -> run(self, "KILL CONNECTION_ID()"));
    }
  }

  /** A reset of the session clears its state. */
  static void resetBy(Connection s, Callable<Boolean> begin) throws Exception {
    String name = SCHEMA + ".r";
    try (Connection other = client.open()) {
      Object id = value(s, "SELECT CONNECTION_ID()");
      run(s, "SET @x = 1");
      run(s, "CREATE TEMPORARY TABLE t (i INT)");
      run(s, "DO GET_LOCK('" + name + "', 0)");
      tell("other", () -> value(other, "SELECT GET_LOCK(?, 0)", name));
      if (!begin.call()) {
        return;
      }
      tell("other afterwards", () -> value(other, "SELECT GET_LOCK(?, 10)", name));
      tell("variable", () -> value(s, "SELECT @x"));
      tell("table", () -> run(s, "SELECT * FROM t"));
      tell("same connection", () -> value(s, "SELECT CONNECTION_ID()").equals(id));
      tell("lock", () -> value(s, "SELECT GET_LOCK(?, 0)", name));
    }
  }

  static void reset(Connection c) throws Exception {
    resetBy(c, () -> {
      client.reset(c);
      return true;
    });
  }

  static void changeUser(Connection c) throws Exception {
    if (!(client instanceof ConnectorJ)) {
      return;
    }
    resetBy(c, () -> client.changeUser(c, Client.PASSWORD));
    tell("wrong", () -> client.changeUser(c, "wrong"));
  }

  static CompletableFuture<String> waits(Connection c, String name) throws Exception {
    var waiting = CompletableFuture.supplyAsync(() -> {
      try {
        return show(value(c, "SELECT GET_LOCK(?, 30)", name));
      } catch (Exception e) {
        return fault(e);
      }
    });
    Thread.sleep(200);
    return waiting;
  }

  static void lock(Connection unused) throws Exception {
    String name = SCHEMA + ".lock";
    for (String[] how : List.of(EMULATED, PREPARED)) {
      try (Connection a = client.open(how); Connection b = client.open(how)) {
        Object id = value(a, "SELECT CONNECTION_ID()");
        tell("first", () -> value(a, "SELECT GET_LOCK(?, 5)", name));
        tell("second at once", () -> value(b, "SELECT GET_LOCK(?, 0)", name));
        tell("free", () -> value(b, "SELECT IS_FREE_LOCK(?)", name));
        tell("used by first", () -> value(b, "SELECT IS_USED_LOCK(?)", name).toString().equals(id.toString()));
        tell("released by second", () -> value(b, "SELECT RELEASE_LOCK(?)", name));
        var second = waits(b, name);
        tell("released", () -> value(a, "SELECT RELEASE_LOCK(?)", name));
        say("second = " + second.get());
        tell("again", () -> value(b, "SELECT GET_LOCK(?, 0)", name));
        tell("first after a second", () -> value(a, "SELECT GET_LOCK(?, 1)", name));
        try (PreparedStatement s = a.prepareStatement("SELECT GET_LOCK(?, 30)")) {
          s.setQueryTimeout(1);
          s.setString(1, name);
          tell("timed out", () -> results(s, s.execute()));
        }
        var first = waits(a, name);
        b.close();
        say("first when second closed = " + first.get());
        tell("all", () -> value(a, "SELECT RELEASE_ALL_LOCKS()"));
        tell("none", () -> value(a, "SELECT RELEASE_LOCK(?)", name));
        tell("together", () -> run(a, "SELECT GET_LOCK(?, 0) AS a, GET_LOCK(?, 0) AS b, RELEASE_ALL_LOCKS() AS n", name + 1, name + 2));
      }
    }
  }

  static void busy(Connection c) throws Exception {
    run(c, "CREATE TABLE busy (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)");
    run(c, "INSERT INTO busy (n) VALUES (0)");
    tell("lock", () -> value(c, "SELECT GET_LOCK(?, 5)", "busy"));
    int errors = 0;
    boolean over = false;
    for (int round = 0; round < 400 && !over; round++) {
      try {
        run(c, "UPDATE busy SET n = n + ?", 1);
        over = ((Number) value(c, "SELECT n > ? FROM busy", 510)).intValue() == 1;
      } catch (Exception e) {
        errors++;
      }
      Thread.sleep(50);
    }
    say("over: " + over + ", one error at most: " + (errors < 2));
    tell("mine", () -> value(c, "SELECT IS_USED_LOCK('busy') = CONNECTION_ID()"));
    tell("id", () -> value(c, "SELECT id = LAST_INSERT_ID() FROM busy"));
    tell("released", () -> value(c, "SELECT RELEASE_LOCK(?)", "busy"));
    run(c, "DROP TABLE busy");
  }

  static void pool(Connection unused) throws Exception {
    var config = new HikariConfig();
    config.setJdbcUrl(client.url(SCHEMA));
    config.setUsername(Client.USER);
    config.setPassword(Client.PASSWORD);
    config.setMaximumPoolSize(3);
    var inside = new AtomicInteger();
    var most = new AtomicInteger();
    try (var hikari = new HikariDataSource(config)) {
      var threads = Executors.newFixedThreadPool(6);
      var turns = new ArrayList<java.util.concurrent.Future<String>>();
      for (int i = 0; i < 12; i++) {
        turns.add(threads.submit(() -> {
          try (Connection c = hikari.getConnection()) {
            String got = show(value(c, "SELECT GET_LOCK(?, 30)", SCHEMA + ".pool"));
            most.accumulateAndGet(inside.incrementAndGet(), Math::max);
            Thread.sleep(5);
            inside.decrementAndGet();
            return got + show(value(c, "SELECT RELEASE_LOCK(?)", SCHEMA + ".pool"));
          }
        }));
      }
      for (var turn : turns) {
        say("turn " + turn.get());
      }
      say("at most " + most + " inside");
      threads.shutdown();
      Connection c = hikari.getConnection();
      Object id = value(c, "SELECT CONNECTION_ID()");
      try (Connection killer = client.open()) {
        run(killer, "KILL " + id);
      }
      Thread.sleep(1000);
      // The pool learns of it, and does not lend it again.
      tell("killed", () -> value(c, "SELECT 1"));
      c.close();
      for (int i = 0; i < 5; i++) {
        try (Connection next = hikari.getConnection()) {
          tell("another connection", () -> !value(next, "SELECT CONNECTION_ID()").equals(id));
        }
      }
    }
  }

  static void run(String name, Work work) {
    current = name;
    try (Connection c = client.open()) {
      work.run(c);
    } catch (Throwable e) {
      say(fault(e));
    }
  }

  static void setup(Connection c) throws Exception {
    for (String line : Files.readAllLines(Path.of(Client.ENV.get("SETUP")))) {
      int colon = line.indexOf(": ");
      boolean some = line.startsWith("mysql: ") || line.startsWith("mariadb: ");
      if (some && !line.substring(0, colon).equals(Client.ENV.get("DB_FLAVOUR"))) {
        continue;
      }
      if (!line.isEmpty() && !line.startsWith("#")) {
        run(c, some ? line.substring(colon + 2) : line);
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    client = Client.named(arguments[0]);
    try (Connection c = client.open()) {
      setup(c);
    }
    run("connect", Cases::connect);
    run("types", Cases::types);
    run("prepared", Cases::prepared);
    run("transactions", Cases::transactions);
    run("errors", Cases::errors);
    run("big_packet", Cases::bigPacket);
    run("big_result", Cases::bigResult);
    run("cursor", Cases::cursor);
    run("multi_results", Cases::multiResults);
    run("warnings", Cases::warnings);
    run("infile", Cases::infile);
    run("compression", Cases::compression);
    run("reconnect", Cases::reconnect);
    run("reset", Cases::reset);
    run("change_user", Cases::changeUser);
    run("lock", Cases::lock);
    // MariaDB's has the server report settings, so its sessions keep their connections (docs/pooling.md, "tracking").
    if (!(client instanceof MariaDb)) {
      run("busy", Cases::busy);
    }
    run("pool", Cases::pool);
    System.out.flush();
    System.exit(0);
  }
}
