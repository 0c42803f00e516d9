"""psycopg 3 with SCRAM over TLS: run.sh has started a server that lets nobody else in."""

import os
import threading

import psycopg

from cases import DATABASE, PORT, report

CERTIFICATE = os.environ["PGSSLROOTCERT"]


def connect(**changes):
    given = {
        "host": "localhost", "port": PORT, "user": "ann", "dbname": DATABASE, "password": os.environ["SECRET"],
        "sslmode": "verify-full", "sslrootcert": CERTIFICATE, "connect_timeout": 20,
    }
    return psycopg.connect(**(given | changes))


def the_channel_is_bound():
    with connect(channel_binding="require") as c:
        assert c.execute("select current_user").fetchone() == ("ann",)
        assert c.pgconn.ssl_in_use


def a_notification_comes_while_nothing_is_asked():
    with connect(autocommit=True) as c, connect(autocommit=True) as other:
        c.execute("listen news")
        timer = threading.Timer(0.2, lambda: other.execute("notify news, 'encrypted'"))
        timer.start()
        assert [n.payload for n in c.notifies(timeout=20, stop_after=1)] == ["encrypted"]
        timer.join()
        assert c.execute("select 1").fetchone() == (1,)


def a_wrong_password_is_refused():
    try:
        connect(password="wrong")
        raise AssertionError("let in")
    except psycopg.OperationalError as error:
        assert 'password authentication failed for user "ann"' in str(error), error


def an_unknown_certificate_is_refused():
    try:
        connect(sslrootcert="system")
        raise AssertionError("let in")
    except psycopg.OperationalError as error:
        assert "certificate" in str(error), error


for f in (the_channel_is_bound, a_notification_comes_while_nothing_is_asked, a_wrong_password_is_refused, an_unknown_certificate_is_refused):
    try:
        f()
        report("psycopg3-secure", f.__name__)
    except Exception as error:
        report("psycopg3-secure", f.__name__, error)
