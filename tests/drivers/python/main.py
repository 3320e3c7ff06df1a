"""The cases of the driver matrix in Python: main.py CLIENT [CASE...]"""

import importlib
import sys
import warnings

import show

MODULES = {
    "asyncmy": "asynchronous",
    "aiomysql": "asynchronous",
    "sqlalchemy": "alchemy",
    "django": "by_django",
}

CASES = (
    "connect types prepared transactions errors big_packet big_result cursor multi_results warnings infile compression "
    "reconnect reset change_user lock pool busy"
).split()


def main():
    client, wanted = sys.argv[1], sys.argv[2:] or CASES
    warnings.simplefilter("ignore")
    cases = importlib.import_module(MODULES.get(client, "dbapi")).cases(client)
    for name in CASES:
        case = getattr(cases, name, None)
        if case is None or name not in wanted:
            continue
        show.running = name
        try:
            case()
        except Exception as e:  # noqa: BLE001: a case that fails prints its error
            show.line("the case ends with", show.error(e))


main()
