#!/usr/bin/env python3
"""Counts the instructions of a dispatch: those of the program, without the driver, libc and the loader.

    benches/count.py PROGRAM                            prints a table of all rows
    benches/count.py PROGRAM ROW                        prints the functions of one row
    benches/count.py PROGRAM --check COLUMN [ROW ...]   compares with a column of counts.tsv: fails if a row takes 3 % more
    benches/count.py PROGRAM --write COLUMN [ROW ...]   writes that column, or these rows of it

PROGRAM is the built benchmark `dispatch`. Needs valgrind, and objdump for the locked instructions.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile

FIGURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counts.tsv")
CALLS = 256
SLACK = 1.03
# Locked instructions more: the averages are rounded, and a wait may end a little earlier or later.
SLACK_LOCKED = 1
# Each part of a name that is in one row of the benchmark alone.
ROWS = [
    "empty kernel on one buffer",
    "empty kernel, reads two",
    "fill of one buffer, chained",
    "launch with 2 arguments",
    "launch with 16 arguments",
    "matmul with a known way",
    "convolution with a known plan",
    "map by a kept formula",
    "whole sum of a tensor",
    "layer norm of rows",
    "replay of 2 steps",
    "replay of 20 steps",
    "dot of 1024",
    "axpy of 1024",
    "gemm of 64^3 of tensors",
    "gemv of 64 x 64",
    "spmv of tensors",
    "fft of a tensor of 1024",
    "lu of a tensor of 64 x 64",
    "map of 8 elements on the CPU",
    "sum of 8 elements on the CPU",
]


def locked(program):
    """The addresses of the locked instructions; `xchg` with memory is one too."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True)
    found = re.findall(r"^\s*([0-9a-f]+):\s+(?:lock |xchg .*\()", text.stdout, re.M)
    return {int(address, 16) for address in found}


def count(program, row, of_lock):
    """Instructions a dispatch, locked ones a dispatch, and instructions by function."""
    with tempfile.NamedTemporaryFile() as out:
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=*measured*", "--dump-instr=yes"]
        command += ["--compress-strings=no", "--compress-pos=no", f"--callgrind-out-file={out.name}"]
        run = subprocess.run(command + [program, row, str(CALLS)], capture_output=True, text=True)
        if run.returncode != 0 or " ns" not in run.stdout:
            sys.exit(f"the row `{row}` of {program} failed:\n{run.stdout}{run.stderr}")
        text = open(out.name).read()
    functions, locks, ours, function, inclusive = collections.Counter(), 0, False, "", False
    for line in text.splitlines():
        if line.startswith("ob="):
            ours = line[3:] == program
        elif line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            inclusive = True  # the next line is the cost of the called function
        elif line[:2] == "0x":
            if not inclusive and ours:
                address, _, cost = line.split()
                functions[function] += int(cost)
                locks += int(cost) if int(address, 16) in of_lock else 0
            inclusive = False
    return round(sum(functions.values()) / CALLS), round(locks / CALLS), functions


def read():
    """The figures by column and row, and the lines of the head."""
    head, columns, figures = [], [], {}
    for line in open(FIGURES).read().splitlines() if os.path.exists(FIGURES) else []:
        if line.startswith("#"):
            head.append(line)
        elif not columns:
            columns = line.split("\t")[1:]
        else:
            row, *cells = line.split("\t")
            for column, cell in zip(columns, cells):
                if cell != "-":
                    figures[column, row] = [int(number) for number in cell.split(" ")]
    return head, columns, figures


def write(head, columns, figures):
    cell = lambda column, row: " ".join(map(str, figures.get((column, row), ["-"])))
    lines = head + ["\t".join(["row"] + columns)]
    lines += ["\t".join([row] + [cell(column, row) for column in columns]) for row in ROWS]
    open(FIGURES, "w").write("\n".join(lines) + "\n")


def main():
    program, arguments = os.path.abspath(sys.argv[1]), sys.argv[2:]
    of_lock = locked(program)
    if arguments and not arguments[0].startswith("--"):
        total, locks, functions = count(program, arguments[0], of_lock)
        print(f"{total} instructions, {locks} of them locked")
        for function, cost in functions.most_common(60):
            print(f"{cost / CALLS:8.1f}  {function}")
        return
    action, column = (arguments + ["", ""])[:2]
    head, columns, figures = read()
    rows = [row for row in arguments[2:] or ROWS if action != "--check" or (column, row) in figures]
    over = []
    for row in rows:
        instructions, locks, _ = count(program, row, of_lock)
        print(f"{row:32} {instructions:6} instructions, {locks:2} locked", flush=True)
        if action == "--check":
            most, most_locked = figures[column, row]
            if instructions > SLACK * most or locks > most_locked + SLACK_LOCKED:
                over.append(f"{row}: {instructions} and {locks} locked, but {most} and {most_locked} are committed")
        figures[column, row] = [instructions, locks]
    if action == "--write":
        write(head, columns if column in columns else columns + [column], figures)
    if action == "--check" and not rows:
        sys.exit(f"{FIGURES} has no column `{column}`")
    if over:
        sys.exit("\n".join(over))


main()
