"""Looks at a proxy's page and metrics, for windows.sh:

    windows.py times PORT PATH COUNT PAUSE     prints the median and the 99th percentile, in microseconds
    windows.py watch PORT BROWSERS             as so many open pages and a Prometheus do, until it is ended
"""

import http.client
import os
import sys
import threading
import time


def get(connection, path):
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise OSError(f"{path}: {answer.status}")


def connect(port):
    return http.client.HTTPConnection("localhost", port, timeout=30)


def times(port, path, count, pause):
    connection = connect(port)
    get(connection, path)
    taken = []
    for _ in range(count):
        time.sleep(pause)
        begun = time.perf_counter()
        get(connection, path)
        taken.append(time.perf_counter() - begun)
    taken.sort()
    print(f"{1e6 * taken[count // 2]:.0f} {1e6 * taken[min(count - 1, count * 99 // 100)]:.0f}")


def look(port, path, every, first):
    connection = connect(port)
    time.sleep(first)
    try:
        while True:
            get(connection, path)
            time.sleep(every)
    except (OSError, http.client.HTTPException) as error:
        print(f"{path}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def watch(port, browsers):
    eyes = [("/api/v1/status", 2, 2 * n / browsers) for n in range(browsers)] + [("/metrics", 5, 0)]
    for path, every, first in eyes:
        threading.Thread(target=look, args=(port, path, every, first), daemon=True).start()
    threading.Event().wait()


def main():
    if sys.argv[1] == "times":
        times(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
    else:
        watch(int(sys.argv[2]), int(sys.argv[3]))


main()
