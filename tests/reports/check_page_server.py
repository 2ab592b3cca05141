#!/usr/bin/env python3
"""Talks to `roofline page` as a browser and as an attacker would, over plain sockets.

usage: check_page_server.py --program build/roofline
Prints a line per failure, then 'N passed, N failed, N skipped'; exits with 1 if something failed. Without the module
that serves it, the command must say how to get it, and the rest is skipped.
"""

import argparse
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time


class Checks:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, what, right, saw=""):
        if right:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {what}: {saw}")


class Server:
    """The program while it serves a page to this test."""

    def __init__(self, program, folder, *options):
        self.process = subprocess.Popen([program, "page", "--no-open", "--file", "page.html", *options], cwd=folder,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.match(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/\n", line)
        self.said = line
        self.port, self.token = (int(found[1]), found[2]) if found else (0, "")

    def ask(self, target, host=None, method="GET", more="", body=""):
        """Returns (status, header, body); the target is sent as it is."""
        host = f"127.0.0.1:{self.port}" if host is None else host
        lines = f"{method} {target} HTTP/1.1\r\n" + (f"Host: {host}\r\n" if host else "") + more + "\r\n" + body
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(lines.encode())
            answer = b""
            while piece := connection.recv(1 << 20):
                answer += piece
        head, _, content = answer.partition(b"\r\n\r\n")
        status = re.match(rb"HTTP/1\.1 (\d+)", head)
        return int(status[1]) if status else 0, head.decode("latin-1"), content

    def get(self, path, **more):
        return self.ask(f"/{self.token}/{path}", **more)

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        try:
            return self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None


def check_answers(checks, server, folder):
    status, head, body = server.get("")
    checks.check("the page", status == 200 and body == b"<p>the page</p>", (status, body))
    for word in ("nosniff", "no-referrer", "no-store", "same-origin"):
        checks.check(f"the page: header {word}", word in head, head)
    checks.check("no other site may read it", "access-control" not in head.lower(), head)
    status, _, body = server.get("files/")
    names = [each["name"] for each in json.loads(body)]
    checks.check("the listing", status == 200 and names == ["a b.hlo", "page.html", "zero"], body)
    checks.check("the listing has sizes", [each["bytes"] for each in json.loads(body)] == [9, 15, 0], body)
    status, head, body = server.get("files/a%20b.hlo")
    checks.check("a file", status == 200 and body == b"HloModule", (status, body))
    checks.check("a file is no page of this origin", "attachment" in head and "sandbox" in head and
                 "octet-stream" in head, head)
    status, _, body = server.get("files/zero")
    checks.check("an empty file", status == 200 and body == b"", (status, body))
    (folder / "large").write_bytes(b"x" * (5 << 20))
    status, _, body = server.get("files/large")
    checks.check("a file of 5 MiB", status == 200 and len(body) == 5 << 20, (status, len(body)))
    with open(folder / "huge", "wb") as huge:
        huge.truncate((256 << 20) + 1)
    checks.check("a file that is too large", server.get("files/huge")[0] == 413)
    status, head, _ = server.ask(f"/{server.token}")
    checks.check("without the last slash", status == 308 and f"/{server.token}/" in head, head)


def check_attacks(checks, server, folder):
    def refused(what, answer, statuses):
        status, _, body = answer
        quiet = b"secret" not in body and b"the page" not in body and b"HloModule" not in body
        checks.check(what, status in statuses and quiet, (status, body[:80]))

    token = server.token
    wrong = ("0" if token[0] != "0" else "1") + token[1:]
    for target in ("/", "/files/", "/index.html", f"/{wrong}/", f"/{token[:-1]}/", f"/{token}x/", f"//{token}/",
                   f"/%2f{token}/", f"/x/../{token}/"):
        refused(f"token: {target}", server.ask(target), (400, 404))
    for name in ("../secret", "..%2fsecret", "%2e%2e/secret", "%2e%2e%2fsecret", "..%5csecret", "..%252fsecret",
                 str(folder.parent / "secret"), "%2fetc%2fpasswd", "link", "up/secret", "up%2fsecret", "below/deep",
                 ".hidden", "%2ehidden", "a%20b.hlo/../../secret", "%00", "a%20b.hlo%00", "fifo"):
        refused(f"path: {name}", server.get("files/" + name), (400, 404))
    refused("path: raw ..", server.ask(f"/{token}/files/../../secret"), (400, 404))
    for host in ("", "evil.example", f"evil.example:{server.port}", "127.0.0.1", f"127.0.0.1:{server.port + 1}",
                 f"127.0.0.1:{server.port}.evil.example"):
        refused(f"host: {host!r}", server.get("files/a%20b.hlo", host=host), (400, 403))
    refused("host twice", server.get("", more="Host: evil.example\r\n"), (400, 403))
    for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "BREW"):
        refused(f"method {method}", server.get("files/a%20b.hlo", method=method), (400, 405, 0))
    before = sorted(path.name for path in folder.iterdir())
    refused("an upload", server.get("files/new", method="PUT", more="Content-Length: 3\r\n", body="abc"),
            (400, 405, 413))
    checks.check("nothing is written", sorted(path.name for path in folder.iterdir()) == before)
    status, _, body = server.ask("/" + "a" * 20000)
    checks.check("an endless target", status in (0, 400, 404, 414), (status, body[:80]))
    # Requests in one connection: the second is not taken for the first one's.
    status, _, body = server.get("files/a%20b.hlo", method="POST", more="Content-Length: 0\r\n",
                                 body=f"GET /{token}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n")
    checks.check("a request behind another one", b"the page" not in body, (status, body[:200]))
    checks.check("it still answers", server.get("")[0] == 200)


def check_life(checks, program, folder, server):
    listening = [line for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()
                 if f":{server.port:04X} " in line.split()[1] + " " and line.split()[3] == "0A"]
    checks.check("it listens on 127.0.0.1 alone", len(listening) == 1 and "0100007F:" in listening[0], listening)
    other = subprocess.run([program, "page", "--no-open", "--file", "page.html", "--port", str(server.port)],
                           cwd=folder, capture_output=True, text=True, timeout=30, check=False)
    checks.check("a port in use", other.returncode == 2 and "in use" in other.stderr, other)
    # A client that sends nothing must not keep it from ending.
    idle = socket.create_connection(("127.0.0.1", server.port))
    began = time.monotonic()
    status = server.stop()
    idle.close()
    checks.check("Ctrl-C ends it", status == 0, status)
    checks.check("without a word", server.process.stderr.read() == "")
    checks.check("soon", time.monotonic() - began < 8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    program = str(pathlib.Path(parser.parse_args().program).resolve())
    checks = Checks()
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        folder = root / "open"
        (folder / "below").mkdir(parents=True)
        (root / "secret").write_text("secret")
        (folder / "page.html").write_text("<p>the page</p>")
        (folder / "a b.hlo").write_text("HloModule")
        (folder / "zero").write_text("")
        (folder / ".hidden").write_text("secret")
        (folder / "below" / "deep").write_text("secret")
        (folder / "link").symlink_to(root / "secret")
        (folder / "up").symlink_to(root)
        subprocess.run(["mkfifo", folder / "fifo"], check=True)
        missing = subprocess.run([program, "page", "--no-open", "--file", "none.html"], cwd=folder,
                                 capture_output=True, text=True, timeout=30, check=False)
        checks.check("a page that is missing", missing.returncode == 2 and "none.html" in missing.stderr, missing)
        server = Server(program, folder)
        if not server.token:
            problem = server.process.stderr.read()
            server.process.wait(timeout=10)
            checks.check("without the module it says what to install", "libcpp-httplib-dev" in problem,
                         server.said + problem)
            checks.skipped += 1
        else:
            check_answers(checks, server, folder)
            check_attacks(checks, server, folder)
            check_life(checks, program, folder, server)
    print(f"{checks.passed} passed, {checks.failed} failed, {checks.skipped} skipped")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
