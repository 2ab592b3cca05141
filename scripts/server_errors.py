#!/usr/bin/env python3
"""Computes the errors of data/servers.toml that rest on rows to which no server was fitted, from what `roofline
validate` prints, and compares them with the file.

    roofline validate other_serving_measured.csv --csv > rows.csv
    scripts/server_errors.py rows.csv

Entries of [[elsewhere]] are rows of a library on a platform, with the parameters of another platform: the mean of
|expected / measured - 1| over times per output token and over those to first token. A [[server]] of which the share of
the kernels is 1 and nothing else was fitted has kernels that were fitted to whole passes: its error is that of the rows
of its models, those that are equal in everything counting once, and its held-out error that of the calibrations of its
machines, by their rows. Prints one line per figure, exit 1 if one differs. Needs only Python."""
import argparse
import csv
import pathlib
import sys
import tomllib

TOKENS = ("decode", "throughput")


def toml_of(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


def rows_of(path, data):
    """Returns the rows with an expected time: library, platform, machine, operation, model, error and what is equal."""
    platforms = {}
    for file in (data / "machines").glob("*.toml"):
        machine = toml_of(file)
        platforms[machine["id"]] = f'{machine["vendor"]} {machine["kind"]}'
    rows = []
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["expected_s"]:
                error = abs(float(row["expected_s"]) / float(row["measured_s"]) - 1)
                machine = row["slice"].split(":")[0]
                rows.append((row["software"].split()[0], platforms[machine], machine, row["operation"], row["model"],
                             error, (row["slice"], row["dtype"], row["shape"], row["measured_s"])))
    return rows


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else 0


def figures(servers, rows, data):
    """Yields each figure's name, the file's and the computed one."""
    for entry in servers.get("elsewhere", []):
        own = [row for row in rows if row[:2] == (entry["software"], entry["platform"])]
        tokens = [row[5] for row in own if row[3] in TOKENS]
        name = f'{entry["software"]} on {entry["platform"]}'
        yield name + ", rows", entry["rows"], len(tokens)
        yield name + ", error", entry["error"], mean(tokens)
        yield name + ", ttft_error", entry.get("ttft_error", 0), mean(row[5] for row in own if row[3] == "prefill")
    for entry in servers["server"]:
        if entry.get("kernels", 1) != 1 or any(key.endswith("_us") for key in entry) or "wait_steps" in entry:
            continue
        wanted = {model.split("/")[-1] for model in entry["models"]}
        own = {row[6]: row for row in rows if row[0] == entry["software"] and row[3] in TOKENS
               and any(each in row[4] for each in wanted)}.values()
        held_out = [toml_of(data / "calibration" / f"{row[2]}.toml")["kernel"][0]["error_held_out"] for row in own]
        yield entry["software"] + ", rows", entry["rows"], len(own)
        yield entry["software"] + ", error_fitted", entry["error_fitted"], mean(row[5] for row in own)
        yield entry["software"] + ", error_held_out", entry["error_held_out"], mean(held_out)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent)
    parser.add_argument("rows", help="what `roofline validate --csv` printed")
    options = parser.parse_args(arguments)
    data = options.root / "data"
    different = 0
    for name, there, computed in figures(toml_of(data / "servers.toml"), rows_of(options.rows, data), data):
        same = f"{there:.3g}" == f"{computed:.3g}"
        different += not same
        print(f"{name}: {computed:.3g}" + ("" if same else f", the file has {there:.3g}"))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
