import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.TreeMap;

/** What the two drivers do not have in common. */
abstract class Client {
  static final Map<String, String> ENV = System.getenv();
  static final String USER = ENV.get("DB_USER");
  static final String PASSWORD = ENV.get("DB_PASSWORD");

  abstract String scheme();

  /** Options of every connection. */
  abstract Map<String, String> options() throws Exception;

  /** Options for reading rows as they come, by a cursor; none if there is no such thing. */
  abstract String cursor();

  abstract int streaming();

  abstract String compression();

  abstract void infile(Statement statement, InputStream data) throws SQLException;

  abstract void reset(Connection connection) throws SQLException;

  /** Another user in the same connection, if the driver can. */
  boolean changeUser(Connection connection, String password) throws SQLException {
    return false;
  }

  String url(String schema, String... more) throws Exception {
    var all = new TreeMap<>(options());
    for (String option : more) {
      all.put(option.split("=")[0], option.split("=")[1]);
    }
    var url = new StringBuilder("jdbc:" + scheme() + "://" + ENV.get("DB_HOST") + ":" + ENV.get("DB_PORT") + "/" + schema);
    char separator = '?';
    for (var option : all.entrySet()) {
      url.append(separator).append(option.getKey()).append('=').append(option.getValue());
      separator = '&';
    }
    return url.toString();
  }

  Connection open(String... more) throws Exception {
    return DriverManager.getConnection(url(ENV.get("DB_SCHEMA"), more), USER, PASSWORD);
  }

  static boolean tls() {
    return "on".equals(ENV.get("DB_TLS"));
  }

  static Client named(String name) {
    return switch (name) {
      case "connector-j" -> new ConnectorJ();
      case "mariadb-connector-j" -> new MariaDb();
      default -> throw new IllegalArgumentException("no such client: " + name);
    };
  }
}

class ConnectorJ extends Client {
  private Path trusted;

  String scheme() {
    return "mysql";
  }

  Map<String, String> options() throws Exception {
    var all = new TreeMap<>(Map.of("allowPublicKeyRetrieval", "true", "allowLoadLocalInfile", "true", "connectionTimeZone", "UTC"));
    all.put("sslMode", tls() ? "VERIFY_IDENTITY" : "DISABLED");
    if (tls()) {
      all.put("trustCertificateKeyStoreUrl", "file:" + store());
      all.put("trustCertificateKeyStoreType", "PKCS12");
      all.put("trustCertificateKeyStorePassword", "public");
      all.put("fallbackToSystemTrustStore", "false");
    }
    return all;
  }

  /** It reads no PEM. */
  private Path store() throws Exception {
    if (trusted == null) {
      trusted = Files.createTempFile("ca", ".p12");
      trusted.toFile().deleteOnExit();
      var store = KeyStore.getInstance("PKCS12");
      store.load(null, null);
      try (var ca = new FileInputStream(ENV.get("DB_CA")); var out = new FileOutputStream(trusted.toFile())) {
        store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(ca));
        store.store(out, "public".toCharArray());
      }
    }
    return trusted;
  }

  String cursor() {
    return "useCursorFetch=true";
  }

  int streaming() {
    return Integer.MIN_VALUE;
  }

  String compression() {
    return "useCompression=true";
  }

  void infile(Statement statement, InputStream data) {
    ((com.mysql.cj.jdbc.JdbcStatement) statement).setLocalInfileInputStream(data);
  }

  void reset(Connection connection) throws SQLException {
    ((com.mysql.cj.jdbc.JdbcConnection) connection).resetServerState();
  }

  boolean changeUser(Connection connection, String password) throws SQLException {
    ((com.mysql.cj.jdbc.JdbcConnection) connection).changeUser(USER, password);
    return true;
  }
}

class MariaDb extends Client {
  String scheme() {
    return "mariadb";
  }

  Map<String, String> options() {
    var all = new TreeMap<>(Map.of("allowPublicKeyRetrieval", "true", "allowLocalInfile", "true", "connectionTimeZone", "UTC"));
    all.put("sslMode", tls() ? "verify-full" : "disable");
    if (tls()) {
      all.put("serverSslCert", ENV.get("DB_CA"));
    }
    return all;
  }

  String cursor() {
    return null;
  }

  int streaming() {
    return 100;
  }

  String compression() {
    return "useCompression=true";
  }

  void infile(Statement statement, InputStream data) throws SQLException {
    ((org.mariadb.jdbc.Statement) statement).setLocalInfileInputStream(data);
  }

  void reset(Connection connection) throws SQLException {
    ((org.mariadb.jdbc.Connection) connection).reset();
  }
}
