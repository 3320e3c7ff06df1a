"""The cases for Django, over mysqlclient."""

import datetime
import decimal
import hashlib
import time

import django
import show
from django.conf import settings
from show import Aside, attempt, line, until, value


def database():
    options = dict(charset="utf8mb4")
    if show.TLS:
        options |= dict(ssl_mode="VERIFY_IDENTITY", ssl=dict(ca=show.CA))
    else:
        options["ssl_mode"] = "DISABLED"
    return dict(ENGINE="django.db.backends.mysql", NAME=show.SCHEMA, USER=show.USER, PASSWORD=show.PASSWORD, HOST=show.HOST,
                PORT=show.PORT, OPTIONS=options, CONN_MAX_AGE=None, CONN_HEALTH_CHECKS=True)


settings.configure(
    DATABASES={name: database() for name in ("default", "b", "c")}, INSTALLED_APPS=[], USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.db import OperationalError, connections, models, transaction  # noqa: E402: wants the settings


class Thing(models.Model):
    name = models.CharField(max_length=50, unique=True)
    text = models.TextField(null=True)
    price = models.DecimalField(max_digits=12, decimal_places=3, null=True)
    real = models.FloatField(null=True)
    flag = models.BooleanField(null=True)
    day = models.DateField(null=True)
    at = models.DateTimeField(null=True)
    opens = models.TimeField(null=True)
    lasts = models.DurationField(null=True)
    data = models.BinaryField(null=True)
    more = models.JSONField(null=True)
    uuid = models.UUIDField(null=True)
    owner = models.ForeignKey("self", null=True, on_delete=models.CASCADE)

    class Meta:
        app_label = "cases"


a, b, c = (connections[name] for name in ("default", "b", "c"))


def one(connection, sql, values=None):
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchone()[0] if cursor.description else cursor.rowcount


def id_of(connection):
    return one(connection, "SELECT CONNECTION_ID()")


def fields(thing):
    return value([getattr(thing, field.attname) for field in Thing._meta.fields])


class Cases:
    def connect(self):
        line(one(a, "SELECT VERSION()"), a.mysql_version, a.mysql_is_mariadb, a.isolation_level)
        features = ("supports_transactions", "has_native_uuid_field", "supports_json_field", "has_select_for_update_skip_locked")
        line(value({name: getattr(a.features, name) for name in features}))
        with a.cursor() as cursor:
            cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
            line("TLS", bool(cursor.fetchone()[1]))

    def types(self):
        with a.schema_editor() as editor:
            editor.create_model(Thing)
        first = Thing.objects.create(
            name="é 😀", text="long " * 100, price=decimal.Decimal("-12.345"), real=1e100, flag=True,
            day=datetime.date(2024, 2, 29), at=datetime.datetime(2024, 1, 2, 3, 4, 5, 678901, datetime.timezone.utc),
            opens=datetime.time(23, 59, 59, 999999), lasts=datetime.timedelta(days=-3, microseconds=1), data=b"\x00\xff",
            more={"a": [1, None, "é"]}, uuid="123e4567-e89b-12d3-a456-426655440000",
        )
        Thing.objects.bulk_create([Thing(name=f"thing {n}", owner=first, real=n) for n in range(50)])
        line(fields(Thing.objects.get(pk=first.pk)))
        line(fields(Thing.objects.get(name="thing 7")))
        line(value(Thing.objects.aggregate(models.Sum("real"), models.Avg("price"), models.Count("id"))))
        line(Thing.objects.filter(more__a__contains=1, at__year=2024).count())
        line(Thing.objects.filter(owner__name="é 😀").update(flag=False), value(Thing.objects.update_or_create(name="x")[1]))
        with a.cursor() as cursor:
            line(value([tuple(t) for t in a.introspection.get_table_list(cursor)]))
            line(value([tuple(t) for t in a.introspection.get_table_description(cursor, "cases_thing")]))
            line(value(sorted(a.introspection.get_constraints(cursor, "cases_thing"))[:3]))

    def transactions(self):
        with transaction.atomic():
            Thing.objects.create(name="in a transaction")
            line("b sees", Thing.objects.using("b").filter(name="in a transaction").count())
            try:
                with transaction.atomic():
                    Thing.objects.create(name="inner")
                    raise ValueError
            except ValueError:
                pass
            line(value(Thing.objects.select_for_update(nowait=True).get(name="x").name))
        line("b sees", Thing.objects.using("b").filter(name__in=["in a transaction", "inner"]).count())

    def errors(self):
        attempt("twice", lambda: Thing.objects.create(name="x"))
        attempt("too long", lambda: Thing.objects.create(name="x" * 60))
        attempt("no table", one, a, "SELECT * FROM nosuch")
        attempt("no name", one, a, "SELECT GET_LOCK('', 1)")

    def big_packet(self):
        thing = Thing.objects.create(name="big", text=show.pattern(10 << 20).hex())
        line(value(Thing.objects.get(pk=thing.pk).text))

    def big_result(self):
        digest, total = hashlib.sha256(), 0
        for row in Thing.objects.raw(show.BIG.replace("AS i, REPEAT('x', b.n * 7)", "AS id, REPEAT('x', b.n * 7) AS name").replace(
                "ORDER BY i", "ORDER BY id")).iterator():
            total += 1
            digest.update(f"{row.id} {row.name}".encode())
        line(total, digest.hexdigest())

    def reconnect(self):
        id = id_of(a)
        one(b, f"KILL {id}")
        until("the end", lambda: one(b, show.GONE.format(id)) == 0)
        try:
            line("still there", one(a, "SELECT 1"))
        except OperationalError:  # in words that depend on what arrives first
            pass
        a.close_if_unusable_or_obsolete()
        attempt("then", one, a, "SELECT 1")
        line("another id", id_of(a) != id)

    def lock(self):
        for each in (a, b, c):
            each.inc_thread_sharing()
        ids = {each.alias: id_of(each) for each in (a, b)}
        get = "SELECT GET_LOCK(%s, %s)"
        line("a gets", one(a, get, ["job", 10]))
        line("b gets", one(b, get, ["job", 0]))
        line("holder is a", one(b, "SELECT IS_USED_LOCK(%s)", ["job"]) == ids["default"])
        waiting = Aside(lambda: one(b, get, ["job", 30]))
        until("the wait", lambda: one(c, show.WAITING.format(ids["b"])) == 1)
        line("a releases", one(a, "SELECT RELEASE_LOCK(%s)", ["job"]))
        waiting.show("b gets")
        waiting = Aside(lambda: one(a, get, ["job", 30]))
        until("the wait", lambda: one(c, show.WAITING.format(ids["default"])) == 1)
        b.close()
        waiting.show("a gets after a close")
        line("a releases", one(a, "SELECT RELEASE_LOCK(%s)", ["job"]), one(a, "SELECT RELEASE_LOCK(%s)", ["job"]))

    def busy(self):
        one(a, "CREATE TABLE busy (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)")
        one(a, "INSERT INTO busy (n) VALUES (0)")
        line("lock", one(a, "SELECT GET_LOCK('busy', 5)"))
        errors, over = 0, 0
        for _ in range(400):
            try:
                one(a, "UPDATE busy SET n = n + 1")
                over = one(a, "SELECT n > 510 FROM busy")
            except Exception:  # noqa: BLE001: one is allowed
                errors += 1
            if over == 1:
                break
            time.sleep(0.05)
        line("over", over == 1, "one error at most", errors < 2)
        line("mine", one(a, "SELECT IS_USED_LOCK('busy') = CONNECTION_ID()"), "id", one(a, "SELECT id = LAST_INSERT_ID() FROM busy"))
        line("released", one(a, "SELECT RELEASE_LOCK('busy')"))
        one(a, "DROP TABLE busy")


def cases(_):
    return Cases()
