#!/usr/bin/env python3
"""ranges.py - what is asked for by ranges alone: hits, bytes fetched and bytes written.

    bench/ranges.py [REQUESTS]        (2400)     TWICE: the program

300 objects of 3 MiB, and of 512 KiB; each request is a range of 256 KiB, four fifths of them of 30 objects. The
ranges begin at multiples of 256 KiB, or anywhere behind the first byte. Disk 500 MB, RAM 20 MB, one worker, with one sighting and
with two. "touched" and "twice" are the slices (1 MiB at most) that were asked for at all, and more than once. The last two
columns are what_if's row of the other number of sightings, to be compared with the other run.
"""
import http.client
import http.server
import json
import os
import random
import shutil
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

TWICE = os.environ.get("TWICE", "build/twice")
REQUESTS = int(sys.argv[1]) if len(sys.argv) > 1 else 2400
OBJECTS, HOT, PIECE, SLICE = 300, 30, 256 << 10, 1 << 20


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    size = sent = asked = 0

    def log_message(self, *args):
        pass

    def do_GET(self):
        first, last, field = 0, Origin.size - 1, self.headers.get("Range")
        if field:
            a, b = field.removeprefix("bytes=").split("-")
            first, last = int(a), min(int(b), last) if b else last
        Origin.asked += 1
        self.send_response(206 if field else 200)
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("ETag", '"1"')
        self.send_header("Cache-Control", "max-age=86400")
        self.send_header("Accept-Ranges", "bytes")
        if field:
            self.send_header("Content-Range", f"bytes {first}-{last}/{Origin.size}")
        self.end_headers()
        left, block = last - first + 1, bytes(65536)
        try:
            while left:
                n = min(left, len(block))
                self.wfile.write(block[:n])
                Origin.sent += n
                left -= n
        except OSError:
            self.close_connection = True


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def stats(admin):
    return json.load(urllib.request.urlopen(f"http://127.0.0.1:{admin}/stats"))


def trace(size, anywhere):
    draw = random.Random(7)
    for _ in range(REQUESTS):
        hot = draw.random() < 0.8
        name = draw.randrange(HOT) if hot else draw.randrange(HOT, OBJECTS)
        yield name, draw.randrange(1, size - PIECE) if anywhere else PIECE * draw.randrange(size // PIECE)


def ask(connection, name, at):
    connection.request("GET", f"/{name}", headers={"Range": f"bytes={at}-{at + PIECE - 1}"})
    answer = connection.getresponse()
    n = len(answer.read())
    if answer.status != 206 or n != PIECE:
        sys.exit(f"ranges: {answer.status} with {n} bytes")
    return "; hit" in answer.headers["Cache-Status"]


def run(size, anywhere, sightings, origin, folder):
    Origin.size, Origin.sent, Origin.asked = size, 0, 0
    port, admin = free_port(), free_port()
    config = os.path.join(folder, "twice.yaml")
    with open(config, "w") as f:
        f.write(f"""listen: [ "127.0.0.1:{port}" ]
admin: "127.0.0.1:{admin}"
workers: 1
origins: [ {{ url: "http://127.0.0.1:{origin}" }} ]
cache: {{ dir: {folder}/cache, disk: 500MB, memory: 20MB }}
admission: {{ sightings: {sightings} }}
""")
    command = [TWICE, "run", "-c", config]
    proxy = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while True:
        try:
            stats(admin)
            break
        except OSError:
            if proxy.poll() is not None:
                sys.exit("ranges: the proxy ended: " + " ".join(command))
            time.sleep(0.05)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    hits, slices = 0, {}
    for name, at in trace(size, anywhere):
        hits += ask(connection, name, at)
        for s in range(at // SLICE, (at + PIECE - 1) // SLICE + 1):
            slices[name, s] = slices.get((name, s), 0) + 1
    time.sleep(1)  # what is still to be written
    told = stats(admin)
    disk = told["disk"]
    other = next(row for row in told["what_if"]["rows"] if row["name"] == f"sightings: {3 - sightings}")
    proxy.terminate()
    proxy.wait()
    each = min(size, SLICE) / 1e6
    print(f"{size:9d} {'anywhere' if anywhere else 'aligned':8s} {sightings:9d} {100 * hits / REQUESTS:7.1f}% "
          f"{Origin.sent / 1e6:8.0f} {Origin.asked:6d} {disk['written_bytes'] / 1e6:8.0f} "
          f"{REQUESTS * PIECE / 1e6:6.0f} {len(slices) * each:8.0f} {sum(n > 1 for n in slices.values()) * each:6.0f} "
          f"{100 * other['hit_ratio']:7.1f}% {other['written_bytes'] / 1e6:8.0f}")


def main():
    server = Server(("127.0.0.1", 0), Origin)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("#   bytes ranges   sightings    hits   MB fetched, in   written   sent  touched  twice   what-if: hits, written with the other")
    for size in 3 << 20, 512 << 10:
        for anywhere in False, True:
            for sightings in 1, 2:
                folder = tempfile.mkdtemp(prefix="twice-ranges.", dir=os.environ.get("BENCH_DIR", "/var/tmp"))
                try:
                    run(size, anywhere, sightings, server.server_port, folder)
                finally:
                    shutil.rmtree(folder)


main()
