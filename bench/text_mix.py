#!/usr/bin/env python3
"""text_mix.py - the CDN mix with text in it: what is written, hit and sent with codings kept in one form and packed.

    bench/text_mix.py [REQUESTS [PROGRAM...]]     (60000; PROGRAM: one or more twice, compared with the first)

    PEERS=1 bench/text_mix.py [REQUESTS [PROGRAM]]      beside nginx (two ways) and Varnish, as text_peers.py sets them up

The requests are those of bench/load --cdn. TEXT per cent of the objects (of at most 1 MiB) are pages, PLAIN per
cent of these come plain; the others are sent as gzip to who takes it, with Vary: Accept-Encoding, as by an origin
without br. All else has random bytes. Clients: 85% take gzip, deflate, br and zstd, 12% gzip and deflate, 3% nothing.
Disk SHARE per cent of the distinct bytes, RAM a tenth of that, one worker, RATE requests a second.

    SAVED=1 bench/text_mix.py [REQUESTS [PROGRAM]]      saved_ratio in /stats beside a second run that writes at first
                                                  sight, and packs nothing

    SIMULATED=1 bench/text_mix.py [REQUESTS [PROGRAM]]  beside what `twice simulate` says of its access log, in which pages are named
                                                  .html: with the share that packing left here, with those that it takes
                                                  for granted, and without packing (best with PLAIN=100: no log says sizes of
                                                  two codings apart)

    TEXT=35 PLAIN=30 SHARE=10 RATE=2000 SETTINGS= (lines of configuration for twice)
                                                  written is the kernel's count, CPU that of the worker and of the packer,
                                                  sent all bytes of bodies that clients got. Of a peer, worker is
                                                  all of its threads, and so is "all"
"""
import asyncio
import hashlib
import json
import os
import random
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib

import text_peers

REQUESTS = int(sys.argv[1]) if len(sys.argv) > 1 else 60000
PROGRAMS = sys.argv[2:] or [os.environ.get("TWICE", "build/twice")]
BIN = os.environ.get("BIN", "build/release/bench")
TEXT, PLAIN = int(os.environ.get("TEXT", 35)), int(os.environ.get("PLAIN", 30))
SHARE, RATE = int(os.environ.get("SHARE", 10)), int(os.environ.get("RATE", 2000))
WORDS = ("<div class=\"card\"> <a href=\"/item/ </a> <span> </span> </div> price title image button "
         "the of and to in is that for it as was with be by on not he his but at are this have from").split()
NOISE = random.Random(1).randbytes(2 << 20)


def draw(name, salt):
    return int.from_bytes(hashlib.blake2b((salt + name).encode(), digest_size=4).digest(), "big") % 100


def page(name, size):
    r, out, n = random.Random(name), [], 0
    while n < size:
        w = r.choice(WORDS) if r.random() < 0.85 else "%x" % r.getrandbits(40)
        out.append(w)
        n += len(w) + 1
    return " ".join(out).encode()[:size].ljust(size)


class Origin(asyncio.Protocol):
    kept, kept_bytes, requests, sent = {}, 0, 0, 0

    def connection_made(self, transport):
        self.t, self.b = transport, b""

    def data_received(self, data):
        self.b += data
        while (end := self.b.find(b"\r\n\r\n")) >= 0:
            head, self.b = self.b[:end].decode("latin1"), self.b[end + 4:]
            self.answer(head)

    def answer(self, head):
        name, size = re.match(r"GET /cdn/(\w+)/(\d+)", head).groups()
        size, takes = int(size), "gzip" in (re.search(r"(?im)^accept-encoding:(.*)$", head) or [""])[0]
        Origin.requests += 1
        fields = "HTTP/1.1 200 OK\r\nCache-Control: max-age=86400\r\nETag: \"%s\"\r\n" % name
        if is_text(name, size):
            plain = draw(name, "plain") < PLAIN
            fields += "Content-Type: text/html\r\n" + ("" if plain else "Vary: Accept-Encoding\r\n")
            coded = takes and not plain
            body = self.body(name, size, coded)
            fields += "Content-Encoding: gzip\r\n" if coded else ""
        else:
            fields += "Content-Type: image/jpeg\r\n"
            at = int(name, 16) % (1 << 20)
            body = NOISE[at:at + size] if size <= 1 << 20 else (NOISE * (size // len(NOISE) + 2))[at:at + size]
        Origin.sent += len(body)
        self.t.write((fields + "Content-Length: %d\r\n\r\n" % len(body)).encode() + body)

    def body(self, name, size, coded):
        key = (name, coded)
        if key not in Origin.kept:
            b = page(name, size)
            if coded:
                z = zlib.compressobj(6, zlib.DEFLATED, 31)
                b = z.compress(b) + z.flush()
            Origin.kept[key] = b
        return Origin.kept[key]


def is_text(name, size):
    return size <= 1 << 20 and draw(name, "text") < TEXT


def spelling(r):
    x = r.random()
    if x < 0.85:
        return r.choice(("gzip, deflate, br, zstd", "gzip, deflate, br", "br;q=1.0, gzip;q=0.8"))
    return r.choice(("gzip, deflate", "gzip")) if x < 0.97 else None


class Clients:
    def __init__(self, port, paths):
        self.port, self.paths, self.i, self.r = port, paths, 0, random.Random(7)
        self.hits = self.sent = self.wrong = 0
        self.times, self.begun = [], time.monotonic()

    async def one(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
        while self.i < len(self.paths):
            i, self.i = self.i, self.i + 1
            ahead = self.begun + i / RATE - time.monotonic()
            if ahead > 0:
                await asyncio.sleep(ahead)
            spell, at = spelling(self.r), time.monotonic()
            line = "Accept-Encoding: %s\r\n" % spell if spell else ""
            writer.write(("GET %s HTTP/1.1\r\nHost: h\r\n%s\r\n" % (self.paths[i], line)).encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").lower()
            length = re.search(r"\ncontent-length: (\d+)", head)
            if length:
                body = await reader.readexactly(int(length[1]))
            else:
                body = b""
                while n := int(await reader.readline(), 16):
                    body += (await reader.readexactly(n + 2))[:-2]
                await reader.readline()
            self.times.append(time.monotonic() - at)
            self.hits += "; hit" in head
            self.sent += len(body)
            self.check(self.paths[i], head, body, spell)
        writer.close()

    def check(self, path, head, body, spell):
        name, size = path.split(".")[0].split("/")[2:]
        coding = (re.search(r"\ncontent-encoding: (\w+)", head) or [None, None])[1]
        if coding and coding not in (spell or ""):
            self.wrong += 1
        if coding == "gzip" and len(zlib.decompress(body, 31)) != int(size):
            self.wrong += 1
        if not coding and len(body) != int(size):
            self.wrong += 1


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def cpu(pid):
    """Microseconds by name of thread, of the process and its children."""
    sums, tick = {}, 1e6 / os.sysconf("SC_CLK_TCK")
    for one in text_peers.family(pid):
        for task in os.listdir("/proc/%d/task" % one):
            stat = open("/proc/%d/task/%s/stat" % (one, task)).read()
            name, rest = re.match(r"\d+ \((.*)\) (.*)", stat).groups()
            sums[name] = sums.get(name, 0) + tick * (int(rest.split()[11]) + int(rest.split()[12]))
    return sums


def written(pid):
    return sum(int(re.search(r"\nwrite_bytes: (\d+)", open("/proc/%d/io" % p).read())[1]) for p in text_peers.family(pid))


def simulate(program, place, disk, stats, hits):
    """The same of its access log, beside the bytes that /stats counts without the log of purges and the rest."""
    packing, real = stats["packing"], stats["disk"]
    left = 1000 - 1000 * packing["saved_bytes"] // max(packing["in_bytes"], 1)
    for word in ".html=%.1f%%" % (left / 10), "auto", "off":
        said = json.loads(subprocess.check_output([
            program, "simulate", "--json", "--disk", str(disk), "--memory", str(max(disk // 10, 1 << 20)), "--policies",
            "all,2+slices=off", "--packing", word, place + "/access.log"]))
        row = said["policies"][1]
        print("#  simulated, --packing %-12s hits %.2f%% (%+.2f points)  written %.1f MB (%+.1f%% of %.1f)  "
              "saved_ratio %.1f%% (%+.1f points)  by packing %.1f MB (really %.1f)" % (
                  word, 100 * row["hit_ratio"], 100 * (row["hit_ratio"] - hits), row["written_bytes"] / 1e6,
                  100 * (row["written_bytes"] / real["written_bytes"] - 1), real["written_bytes"] / 1e6,
                  100 * row["saved_ratio"], 100 * (row["saved_ratio"] - real["saved_ratio"]),
                  row["packing_saved_bytes"] / 1e6, packing["saved_bytes"] / 1e6))
    for w in said["warnings"]:
        print("#  warning: " + w)


async def run(program, paths, disk, settings=""):
    loop, origin = asyncio.get_running_loop(), None
    Origin.requests = Origin.sent = 0
    origin = await loop.create_server(Origin, "127.0.0.1", 0)
    listen, admin = port(), port()
    place = tempfile.mkdtemp(prefix="twice-bench.", dir=os.environ.get("BENCH_DIR", "/var/tmp"))
    is_peer = program in text_peers.PROGRAMS
    if is_peer:
        command = text_peers.command(program, place, listen, origin.sockets[0].getsockname()[1], disk)
    else:
        command = [program, "run", "-c", place + "/t.yaml"]
    with open(place + "/t.yaml", "w") as f:
        f.write("""listen: [ "127.0.0.1:%d" ]
admin: "127.0.0.1:%d"
workers: 1
origins: [ { url: "http://127.0.0.1:%d" } ]
cache: { dir: %s/cache, disk: %d, memory: %d }
%s
""" % (listen, admin, origin.sockets[0].getsockname()[1], place, disk, max(disk // 10, 1 << 20),
       settings.replace("LOG", place + "/access.log")))
    log = open(place + "/log", "w")
    p = subprocess.Popen(["taskset", "-c", "0"] + command, stdout=log, stderr=log)
    try:
        for _ in range(1200):
            try:
                socket.create_connection(("127.0.0.1", listen)).close()
                break
            except OSError:
                if p.poll() is not None:
                    sys.exit("the proxy did not start: " + open(place + "/log").read())
                await asyncio.sleep(0.05)
        before, bytes_before = cpu(p.pid), written(p.pid)
        c = Clients(listen, paths)
        await asyncio.gather(*[c.one() for _ in range(32)])
        await asyncio.sleep(2)  # what is on its way to the disk
        after, bytes_after = cpu(p.pid), written(p.pid)
        used = {k: (after[k] - before.get(k, 0)) / len(paths) for k in after}
        of_all = sum(used.values())
        worker = of_all if is_peer else used["worker"]
        c.times.sort()
        print("%-34s hits %.2f%%  written %.1f MB  fetched %.1f MB in %d  sent %.1f MB  worker %.1f us  packer %.1f us  "
              "all %.1f us  p50 %.2f p99 %.2f ms  wrong %d" % (
                  program[-34:], 100 * c.hits / len(paths), (bytes_after - bytes_before) / 1e6, Origin.sent / 1e6,
                  Origin.requests, c.sent / 1e6, worker, used.get("packer", 0), of_all,
                  1e3 * c.times[len(paths) // 2], 1e3 * c.times[len(paths) * 99 // 100], c.wrong), flush=True)
        measured = c.hits / len(paths), bytes_after - bytes_before, c.sent, worker
        if is_peer:
            return measured
        stats = await loop.run_in_executor(
            None, lambda: urllib.request.urlopen("http://127.0.0.1:%d/stats" % admin).read().decode())
        saved = re.search(r'"packing":\s*{[^}]*}', stats)
        if os.environ.get("SIMULATED"):
            simulate(program, place, disk, json.loads(stats), c.hits / len(paths))
        parts = [int(re.search(r'"%s":\s*(\d+)' % k, stats)[1]) / 1e6 for k in ("admitted_bytes", "carried_bytes")]
        print("#  of what was written: admitted %.1f MB, carried %.1f MB" % tuple(parts))
        if saved:
            print("#  " + re.sub(r"\s+", " ", saved[0]))
        told = float(re.search(r'"saved_ratio":\s*([-\d.]+)', stats)[1])
        return *measured, told
    finally:
        p.terminate()
        p.wait()
        origin.close()
        text_peers.end(place)
        shutil.rmtree(place)


def main():
    os.sched_setaffinity(0, {1} if os.cpu_count() > 1 else {0})
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    arguments = ["--requests", str(REQUESTS)]
    paths = subprocess.check_output([BIN + "/load", "--paths"] + arguments, text=True).split()
    if os.environ.get("SIMULATED"):
        paths = [p + (".html" if is_text(p.split("/")[2], int(p.split("/")[3])) else ".jpg") for p in paths]
    facts = subprocess.check_output([BIN + "/load", "--facts"] + arguments, text=True)
    disk = max(int(re.search(r"distinct_bytes=(\d+)", facts)[1]) * SHARE // 100, 8 << 20)
    print("# %s# %d%% text, %d%% of it plain, disk %d MB, %d requests a second" % (facts, TEXT, PLAIN, disk // 1000000, RATE))
    if os.environ.get("SIMULATED"):
        asyncio.run(run(PROGRAMS[0], paths, disk, "access_log: LOG\nadmission: { sightings: 2 }\n" + os.environ.get("SETTINGS", "")))
        return
    if os.environ.get("SAVED"):
        now = asyncio.run(run(PROGRAMS[0], paths, disk))
        all_of_it = "admission: { sightings: 1 }\ncompress: { types: [ none ] }"
        second = asyncio.run(run(PROGRAMS[0], paths, disk, all_of_it))
        print("#  saved_ratio says %.1f%%, measured %.1f%%" % (100 * now[4], 100 * (1 - now[1] / second[1])))
        return
    for path in set(paths):  # else the first proxy would wait while pages are made
        name, size = path.split("/")[2:]
        if is_text(name, int(size)):
            Origin().body(name, int(size), draw(name, "plain") >= PLAIN)
    first = None
    for program in PROGRAMS + (list(text_peers.here()) if os.environ.get("PEERS") else []):
        now = asyncio.run(run(program, paths, disk, os.environ.get("SETTINGS", "")))
        first = first or now
        if now is not first:
            print("#  against the first: hits %+.2f points, written x%.3f, sent x%.3f, worker x%.3f" % (
                100 * (now[0] - first[0]), now[1] / first[1], now[2] / first[2], now[3] / first[3]))


if __name__ == "__main__":
    main()
