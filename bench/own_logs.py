#!/usr/bin/env python3
"""own_logs.py - is `twice simulate` right on twice's own access log? True hits and bytes, and simulated ones.

    bench/own_logs.py [REQUESTS [KIND...]]        (12000)     TWICE: the program; FORMAT: json or combined

Each kind of traffic goes through the real proxy, whose log then goes through the simulation with the same disk and memory:

    plain    a lifetime of a day
    short    lifetimes of 2 to 40 s, half of them with a validator
    vary     two thirds of the URLs have three answers
    purges   every 20th request is followed by a purge of a URL that was asked for lately, every 200th by one of a prefix
    two      two clients ask for the same at the same time, of an origin that takes its time
    methods  a tenth of the requests are POSTs of what was asked for lately, a fifth HEADs; some answers may not be stored

Objects of 2 to 40 KB, a few of 1.5 MB; half of the requests are for one of the popular, the others for new ones. Off: more than a
point of hits, or 3% of the bytes written, without those of the purge log (8 KiB for each purge).
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
FORMAT = os.environ.get("FORMAT", "json")
REQUESTS = int(sys.argv[1]) if len(sys.argv) > 1 else 12000
KINDS = sys.argv[2:] or ["plain", "short", "vary", "purges", "two", "methods"]
DISK, MEMORY, HOT = 64_000_000, 6_000_000, 1500


def size_of(name):
    draw = random.Random(name)
    return 1_500_000 if draw.random() < 0.003 else draw.randrange(2000, 40000)


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kind = ""
    wbufsize, disable_nagle_algorithm = 1 << 21, True  # a head and its body in one packet

    def log_message(self, *args):
        pass

    def answer(self):
        name = self.path.rsplit("/", 1)[1]
        number = int(name) if name.isdigit() else 0
        fields, size = {"Cache-Control": "max-age=86400"}, size_of(number)
        if Origin.kind == "short":
            fields["Cache-Control"] = f"max-age={(2, 5, 15, 40)[number % 4]}"
            if number % 8 < 4:
                fields["ETag"] = '"1"'
        if Origin.kind == "vary" and number % 3:
            fields["Vary"] = "Accept-Language"
        if Origin.kind == "methods" and number % 10 == 0:
            fields["Cache-Control"] = "private"
        if Origin.kind == "two":
            time.sleep(0.004)
        fresh = fields.get("ETag") and self.headers.get("If-None-Match") == fields["ETag"]
        self.send_response(304 if fresh else 200)
        for field in fields.items():
            self.send_header(*field)
        if not fresh:
            self.send_header("Content-Length", str(size))
        self.end_headers()
        if not fresh and self.command != "HEAD":
            self.wfile.write(bytes(size))

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer()

    do_GET = do_HEAD = answer


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 100


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def stats(admin):
    return json.load(urllib.request.urlopen(f"http://127.0.0.1:{admin}/stats"))


class Client:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)

    def ask(self, path, method="GET", fields=None):
        self.connection.request(method, path, headers=fields or {}, body=b"x" if method == "POST" else None)
        answer = self.connection.getresponse()
        answer.read()


def purge(admin, what):
    urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{admin}/purge?{what}", method="POST", data=b""))


def path_of(number):
    return f"/{number % 16}/{number}"


def play(kind, port, admin):
    draw, new, lately = random.Random(3), HOT, []
    clients = [Client(port), Client(port)]
    begun = time.time()
    for i in range(REQUESTS // (2 if kind == "two" else 1)):
        hot = draw.random() < 0.6
        number = int(HOT * draw.random() ** 2.5) if hot else new
        new += not hot
        lately = lately[-50:] + [number]
        path, fields, method = path_of(number), {}, "GET"
        if kind == "vary":
            fields = {"Accept-Language": ("de", "en", "fr")[int(3 * draw.random() ** 2)]}
        if kind == "methods" and draw.random() < 0.1:
            path, method = path_of(draw.choice(lately)), "POST"
        elif kind == "methods" and draw.random() < 0.2:
            method = "HEAD"
        if kind == "two":
            other = threading.Thread(target=clients[1].ask, args=(path,))
            other.start()
            clients[0].ask(path)
            other.join()
        else:
            clients[0].ask(path, method, fields)
        if kind == "purges" and i % 20 == 19:
            purge(admin, f"url=http://127.0.0.1:{port}{path_of(draw.choice(lately))}")
        if kind == "purges" and i % 200 == 199:
            purge(admin, f"prefix=http://127.0.0.1:{port}/{draw.randrange(16)}/")
        if kind == "short":  # a minute
            time.sleep(max(0, begun + i * 60 / REQUESTS - time.time()))
        elif i % (REQUESTS // 10) == 0:
            time.sleep(1.1)  # turns are looked at once a second


def run(kind, origin, folder):
    Origin.kind = kind
    port, admin, log = free_port(), free_port(), os.path.join(folder, "log")
    config = os.path.join(folder, "twice.yaml")
    with open(config, "w") as f:
        f.write(f"""listen: [ "127.0.0.1:{port}" ]
admin: "127.0.0.1:{admin}"
workers: 2
origins: [ {{ url: "http://127.0.0.1:{origin}" }} ]
cache: {{ dir: {folder}/cache, disk: {DISK}, memory: {MEMORY} }}
access_log: {log}
access_log_format: {FORMAT}
""")
    proxy = subprocess.Popen([TWICE, "run", "-c", config], stderr=subprocess.DEVNULL)
    while True:
        try:
            stats(admin)
            break
        except OSError:
            if proxy.poll() is not None:
                sys.exit("own_logs: the proxy ended")
            time.sleep(0.05)
    play(kind, port, admin)
    time.sleep(2)  # what is still to be written
    now = stats(admin)
    proxy.terminate()
    proxy.wait()
    said = subprocess.run([TWICE, "simulate", "--json", "--disk", str(DISK), "--memory", str(MEMORY), "--policies",
                           "2+slices=off", log], capture_output=True, check=True).stdout
    row = json.loads(said)["policies"][0]
    # The purge log's: two pages for each purge, which the simulation does not write.
    purges = sum('"purge":"' in line or ' purge="' in line for line in open(log)) * 8192
    hits, written = 100 * now["requests"]["hit_ratio"], now["disk"]["written_bytes"] - purges
    said_hits, said_written = 100 * row["hit_ratio"], row["written_bytes"]
    off = abs(said_hits - hits) > 1 or abs(said_written / written - 1) > 0.03
    print(f"{kind:8s} {now['requests']['total']:8d} {hits:7.2f}% {said_hits:9.2f}% {said_hits - hits:+7.2f} "
          f"{written / 1e6:9.1f} {said_written / 1e6:9.1f} {100 * (said_written / written - 1):+6.1f}% "
          f"{os.path.getsize(log) / now['requests']['total']:8.0f}{'  <-- off' if off else ''}", flush=True)
    if os.environ.get("KEEP"):
        json.dump(now, open(f"{os.environ['KEEP']}.{kind}.stats", "w"), indent=1)
        shutil.copy(log, f"{os.environ['KEEP']}.{kind}")


def main():
    server = Server(("127.0.0.1", 0), Origin)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("# kind   requests hits: true simulated  points  MB: true simulated     off  bytes a line")
    for kind in KINDS:
        folder = tempfile.mkdtemp(prefix="twice-logs.", dir=os.environ.get("BENCH_DIR", "/var/tmp"))
        try:
            run(kind, server.server_port, folder)
        finally:
            shutil.rmtree(folder)


main()
