"""The clients with Python's own interface (DB-API): how each connects, and what each has besides."""

import show


class Client:
    placeholder = "%s"

    def tls(self, connection):
        with connection.cursor() as cursor:
            cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
            return bool(cursor.fetchone()[1])

    def streaming(self, connection):
        """A cursor that fetches rows while they come."""
        raise NotImplementedError

    def prepared(self, connection):
        """A cursor whose statements are prepared at the server, or None."""


class PyMySQL(Client):
    def __init__(self):
        import pymysql

        self.module = pymysql

    def connect(self, multi=False, infile=False, compress=False, **options):
        settings = dict(host=show.HOST, port=show.PORT, user=show.USER, password=show.PASSWORD, database=show.SCHEMA,
                        charset="utf8mb4", autocommit=True, local_infile=infile, max_allowed_packet=64 << 20)
        if multi:
            settings["client_flag"] = self.module.constants.CLIENT.MULTI_STATEMENTS
        if show.TLS:
            settings |= dict(ssl_ca=show.CA, ssl_verify_cert=True, ssl_verify_identity=True)
        else:
            settings["ssl_disabled"] = True
        return self.module.connect(**(settings | options))

    def id(self, connection):
        return connection.thread_id()

    def streaming(self, connection):
        return connection.cursor(self.module.cursors.SSCursor)


class MySQLClient(Client):
    def __init__(self):
        import MySQLdb
        import MySQLdb.cursors

        self.module = MySQLdb

    def connect(self, multi=False, infile=False, compress=False, **options):
        settings = dict(host=show.HOST, port=show.PORT, user=show.USER, password=show.PASSWORD, database=show.SCHEMA,
                        charset="utf8mb4", autocommit=True, local_infile=int(infile))
        if compress:
            settings["compress"] = True
        if not multi:
            settings["multi_statements"] = False
        if show.TLS:
            settings |= dict(ssl_mode="VERIFY_IDENTITY", ssl=dict(ca=show.CA))
        else:
            settings["ssl_mode"] = "DISABLED"
        return self.module.connect(**(settings | options))

    def id(self, connection):
        return connection.thread_id()

    def streaming(self, connection):
        return connection.cursor(self.module.cursors.SSCursor)

    def change_user(self, connection, user, password, schema):
        return connection.change_user(user, password, schema)


class Connector(Client):
    def __init__(self, pure):
        import mysql.connector

        self.module, self.pure = mysql.connector, pure
        if not show.TLS and not show.MARIADB:
            # Without TLS it never asks for the server's key: the server has to remember the password.
            PyMySQL().connect().close()

    def connect(self, multi=False, infile=False, compress=False, **options):
        settings = dict(host=show.HOST, port=show.PORT, user=show.USER, password=show.PASSWORD, database=show.SCHEMA,
                        charset="utf8mb4", autocommit=True, use_pure=self.pure, allow_local_infile=infile,
                        compress=compress, read_timeout=60)
        if show.MARIADB:
            settings["collation"] = "utf8mb4_general_ci"  # its own is MySQL's
        if show.TLS:
            settings |= dict(ssl_ca=show.CA, ssl_verify_cert=True, ssl_verify_identity=True)
        else:
            settings["ssl_disabled"] = True
        return self.module.connect(**(settings | options))

    def id(self, connection):
        return connection.connection_id

    def streaming(self, connection):
        return connection.cursor(buffered=False)

    def prepared(self, connection):
        return connection.cursor(prepared=True)

    def reset(self, connection):
        return connection.reset_session()

    def change_user(self, connection, user, password, schema):
        return connection.cmd_change_user(user, password, schema)

    def pool(self, size):
        from mysql.connector.pooling import MySQLConnectionPool

        one = self.connect()
        settings = dict(host=show.HOST, port=show.PORT, user=show.USER, password=show.PASSWORD, database=show.SCHEMA,
                        use_pure=self.pure)
        if show.MARIADB:
            settings["collation"] = "utf8mb4_general_ci"
        settings |= dict(ssl_ca=show.CA, ssl_verify_cert=True) if show.TLS else dict(ssl_disabled=True)
        one.close()
        pool = MySQLConnectionPool(pool_name="cases", pool_size=size, **settings)
        return pool.get_connection


class MariaDB(Client):
    placeholder = "?"

    def __init__(self):
        import mariadb

        self.module = mariadb

    def settings(self):
        settings = dict(host=show.HOST, port=show.PORT, user=show.USER, password=show.PASSWORD, database=show.SCHEMA,
                        autocommit=True)
        if show.TLS:
            settings |= dict(ssl_ca=show.CA, ssl_verify_cert=True)
        return settings

    def connect(self, multi=False, infile=False, compress=False, **options):
        settings = self.settings() | dict(local_infile=infile, compress=compress)
        if multi:
            from mariadb.constants import CLIENT

            settings["client_flag"] = CLIENT.MULTI_STATEMENTS
        return self.module.connect(**(settings | options))

    def id(self, connection):
        return connection.connection_id

    def streaming(self, connection):
        return connection.cursor(buffered=False)

    def prepared(self, connection):
        return connection.cursor(binary=True)

    def reset(self, connection):
        return connection.reset()

    def change_user(self, connection, user, password, schema):
        return connection.change_user(user, password, schema)

    def pool(self, size):
        pool = self.module.ConnectionPool(pool_name="cases", pool_size=size, **self.settings())
        return pool.get_connection


CLIENTS = {
    "pymysql": PyMySQL,
    "mysqlclient": MySQLClient,
    "connector": lambda: Connector(True),
    "connector-c": lambda: Connector(False),
    "mariadb": MariaDB,
}
