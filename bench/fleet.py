#!/usr/bin/env python3
"""fleet.py - several nodes as one cache: what they hit, what a hop costs, and what a node that is killed costs.

    bench/fleet.py [PART...]             mix saved zones hop kill stop drain grow upgrade (all)

    mix     REQUESTS of the CDN mix, one after another to each of NODES nodes, whose disks together are SHARE per cent of
            the distinct bytes, beside one node with a disk as large as theirs; TOP per cent of them for one URL
    saved   the same mix to NODES nodes, with sightings: 2 and with sightings: 1: is what `twice stats --fleet` says of hits, of what was
            saved and of origin requests what clients counted and a second run shows? Off: by more than 2 points of what was saved, 0.1 of
            hits, 2 of the hits of the other run. bench/saved.sh is the same of one node
    zones   the same to two zones of two nodes each, each with a disk of SHARE per cent: two fleets that know nothing of each
            other, and two zones of one, which hear what is on each other's disks
    hop     OBJECTS of 1 KiB in RAM: of one node, and of two, of which one is asked, so that half of them are with the other,
            which has the other core, with the clients: as if it were another machine
    kill    RATE requests a second to all nodes but one, which is killed; stop: which stops (SIGSTOP) and goes on

    drain   the mix, RATE requests a second to NODES nodes; from the middle on one node drains, beside the same without that
    grow    the same, with as many nodes more; upgrade: the same, with each node upgraded, one after another


    REQUESTS=60000 NODES=5 SHARE=40 RATE=2000 SECONDS=12   CPU is that of all nodes together, without the engine's
"""
import asyncio
import ctypes
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

REQUESTS, NODES = int(os.environ.get("REQUESTS", 60000)), int(os.environ.get("NODES", 5))
SHARE, RATE = int(os.environ.get("SHARE", 40)), int(os.environ.get("RATE", 2000))
SECONDS, TOP = int(os.environ.get("SECONDS", 12)), int(os.environ.get("TOP", 0))
BIN, TWICE = os.environ.get("BIN", "build/release/bench"), os.environ.get("TWICE", "build/twice")
# With two cores: nodes and engine on one, clients and origin on the other.
PIN, ASIDE = (["taskset", "-c", "0"], ["taskset", "-c", "1"]) if os.cpu_count() > 1 else ([], [])
HZ = os.sysconf("SC_CLK_TCK")
WORK = tempfile.mkdtemp(prefix="twice-bench.", dir=os.environ.get("BENCH_DIR", "/var/tmp"))


def free_port():
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)):
                return port


def wait_for(what, why):
    until = time.monotonic() + 60
    while not (value := what()):
        if time.monotonic() > until:
            raise SystemExit("bench: %s" % why)
        time.sleep(0.02)
    return value


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Origin:
    def __init__(self):
        self.out = tempfile.TemporaryFile("w+", dir=WORK)
        self.p = subprocess.Popen(ASIDE + [BIN + "/origin", "0", "1", "86400"], stdin=subprocess.PIPE, stdout=self.out)
        self.port = int(wait_for(lambda: self.said("port"), "the origin did not start"))

    def said(self, key):
        self.out.seek(0)
        found = re.findall(r"\b%s=(\d+)" % key, self.out.read())
        return found[-1] if found else None

    def end(self):
        self.p.stdin.close()
        self.p.wait()
        return int(self.said("requests"))


class Process:
    """One that an upgrade has left to us, as Popen has its own."""

    def __init__(self, pid):
        self.pid = pid

    def poll(self):
        return None

    def terminate(self):
        os.kill(self.pid, signal.SIGTERM)

    def wait(self):
        os.waitpid(self.pid, 0)


class Node:
    def __init__(self, name, origin, engine, disk, memory, pin=PIN, sightings=2, zone="none"):
        self.pin, disk, memory = pin, max(disk, 8 << 20), max(memory, 1 << 20)
        self.name, self.port, self.admin, self.disk, self.memory = name, free_port(), free_port(), disk, memory
        fleet = """fleet:
  engine: [ "unix:%s" ]
  listen: "127.0.0.1:%d"
  networks: [ 127.0.0.0/8 ]
  secret_file: %s/secret
  name: %s
  zone: %s
""" % (engine, free_port(), WORK, name, zone)
        with open("%s/%s.yaml" % (WORK, name), "w") as f:
            f.write("""listen: [ "127.0.0.1:%d" ]
admin: "127.0.0.1:%d"
workers: 1
origins: [ { url: "http://127.0.0.1:%d" } ]
cache: { dir: %s/%s, disk: %d, memory: %d }
admission: { sightings: %d }
compress: { types: [ none ] }
timeouts: { idle: 10m }
%s""" % (self.port, self.admin, origin.port, WORK, name, disk, memory, sightings, fleet if engine else ""))
        self.start()

    def start(self):
        self.p = subprocess.Popen(self.pin + [TWICE, "run", "-c", "%s/%s.yaml" % (WORK, self.name)],
                                  stderr=open("%s/%s.log" % (WORK, self.name), "a"))
        wait_for(lambda: self.p.poll() is not None or (listens(self.port) and listens(self.admin)), "%s does not start" % self.name)
        if self.p.poll() is not None:
            raise SystemExit(open("%s/%s.log" % (WORK, self.name)).read())

    def ask(self, target):
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.admin, target)) as r:
            return json.load(r)

    def upgrade(self):
        urllib.request.urlopen("http://127.0.0.1:%d/upgrade" % self.admin, data=b"").close()
        state = wait_for(lambda: (s := self.ask("/upgrade"))["state"] != "running" and s, "%s is not upgraded" % self.name)
        if state["state"] != "done":
            raise SystemExit("bench: %s" % state)
        self.p.wait()
        self.p = Process(state["pid"])

    def cpu(self):
        with open("/proc/%d/stat" % self.p.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / HZ

    def written(self):
        with open("/proc/%d/io" % self.p.pid) as f:
            return int(re.search(r"\nwrite_bytes: (\d+)", f.read())[1])

    def end(self):
        self.p.terminate()
        self.p.wait()


def start_engine(path=WORK + "/redis"):
    p = subprocess.Popen(PIN + ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", WORK],
                         stdout=subprocess.DEVNULL)
    wait_for(lambda: os.path.exists(path), "redis-server does not start")
    return p, path


def make_secret():
    with open(WORK + "/secret", "w") as f:
        f.write("%064x\n" % random.getrandbits(256))
    os.chmod(WORK + "/secret", 0o600)


def wait_well(nodes):
    for node in nodes:
        wait_for(lambda: node.ask("/stats")["fleet"]["well"] == len(nodes), "the nodes do not find each other")
    time.sleep(1)


def start_fleet(n, disk, memory, apart=False, sightings=2):
    make_secret()
    origin, (engine, path) = Origin(), start_engine()
    nodes = [Node("n%d" % i, origin, path, disk // n, memory // n, ASIDE if apart and i else PIN, sightings) for i in range(n)]
    wait_well(nodes)
    return origin, engine, nodes


# As ten minutes after the last change: nobody is asked who owned it before.
SETTLE = """redis.call('HDEL', KEYS[1], 'begun', 'changed')
redis.call('HSET', KEYS[1], 'settled', redis.call('HGET', KEYS[1], 'ring'))
redis.call('HINCRBY', KEYS[1], 'epoch', 1)"""


def settle(path, nodes):
    subprocess.run(["redis-cli", "-s", path, "EVAL", SETTLE, "1", "{twice:fleet}:state"], check=True, stdout=subprocess.DEVNULL)
    for node in nodes:
        wait_for(lambda: not node.ask("/stats")["fleet"]["hands_over"], "the ring does not settle")


def stop_fleet(engine, nodes):
    for node in nodes:
        node.end()
        shutil.rmtree("%s/%s" % (WORK, node.name), ignore_errors=True)
    if engine:
        engine.kill()
        engine.wait()


class Clients:
    """Each request goes to the next port. A connection that is closed between two requests is opened anew, as browsers do."""

    def __init__(self, ports, paths, rate=0, connections=16):
        self.ports, self.paths, self.rate, self.connections = ports, paths, rate, connections
        self.i = self.hits = self.failed = 0
        self.times = []

    async def one(self):
        to = {}
        while self.i < len(self.paths):
            i, self.i = self.i, self.i + 1
            ahead = self.begun + i / self.rate - time.monotonic() if self.rate else 0
            if ahead > 0:
                await asyncio.sleep(ahead)
            at, port = time.monotonic(), self.ports[i % len(self.ports)]
            try:
                head, kept = None, port in to
                while not head:
                    if port not in to:
                        to[port] = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
                    reader, writer = to[port]
                    try:
                        writer.write(("GET %s HTTP/1.1\r\nHost: h\r\n\r\n" % self.paths[i]).encode())
                        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").lower()
                    except (ConnectionError, asyncio.IncompleteReadError) as e:
                        if not kept or getattr(e, "partial", b""):
                            raise
                        del to[port]
                        kept = False
                await reader.readexactly(int(re.search(r"\ncontent-length: (\d+)", head)[1]))
                self.failed += not head.startswith("http/1.1 200")
                self.hits += "; hit" in head
            except (OSError, asyncio.IncompleteReadError):
                self.failed += 1
                to.pop(port, None)
            self.times.append((at - self.begun, time.monotonic() - at))
        for _, writer in to.values():
            writer.close()

    async def all(self):
        self.begun = time.monotonic()
        await asyncio.gather(*(self.one() for _ in range(self.connections)))

    def run(self):
        asyncio.run(self.all())
        return self

    def quantile(self, q, since=0.0, until=1e9):
        t = sorted(took for at, took in self.times if since <= at < until)
        return 1e3 * t[min(int(q * len(t)), len(t) - 1)] if t else 0


def of_load(*flags):
    return subprocess.run([BIN + "/load", *flags, "--requests", str(REQUESTS)], capture_output=True, text=True,
                          check=True).stdout


def total(nodes, group, key):
    return sum(n.ask("/stats")[group][key] for n in nodes)


def mix():
    paths = of_load("--paths").split()
    for i in range(0, len(paths) if TOP else 0, 100 // max(TOP, 1)):
        paths[i] = paths[0]
    distinct = int(re.search(r"distinct_bytes=(\d+)", of_load("--facts"))[1])
    disk = distinct * SHARE // 100
    for n in (1, NODES):
        if n == 1:
            origin, engine = Origin(), None
            nodes = [Node("n0", origin, None, disk, disk // 10)]
        else:
            origin, engine, nodes = start_fleet(n, disk, disk // 10)
            settle(WORK + "/redis", nodes)
        before = sum(node.cpu() for node in nodes)
        c = Clients([node.port for node in nodes], paths).run()
        cpu = sum(node.cpu() for node in nodes) - before
        time.sleep(1)
        objects = [node.ask("/stats")["disk"]["objects"] for node in nodes]
        work = [node.ask("/stats")["requests"]["total"] + node.ask("/stats")["hops"]["taken"] for node in nodes]
        taken, asked, written = total(nodes, "hops", "taken"), total(nodes, "hops", "asked"), total(nodes, "disk", "written_bytes")
        stop_fleet(engine, nodes)
        fetched = origin.end()
        print("mix     %d node%s: hits %.2f%%, origin %.2f%%, written %.1f MB, hops %.1f%%, asked before %.2f%%, failed %d, "
              "%.1f us a request; most objects %.2f, most requests %.2f of the mean" % (
                  n, "s" if n > 1 else " ", 100 * c.hits / len(paths), 100 * fetched / len(paths), written / 1e6,
                  100 * taken / len(paths), 100 * asked / len(paths), c.failed, 1e6 * cpu / len(paths),
                  max(objects) * n / max(sum(objects), 1), max(work) * n / sum(work)), flush=True)


def run_saved(paths, disk, sightings):
    origin, engine, nodes = start_fleet(NODES, disk, disk // 10, sightings=sightings)
    before = sum(node.written() for node in nodes)
    c = Clients([node.port for node in nodes], paths, connections=2).run()  # as in bench/saved.sh: the disks keep up
    wait_for(lambda: total(nodes, "disk", "pending_bytes") == 0, "not all is written")
    said = wait_for(lambda: (s := nodes[-1].ask("/fleet?stats=1"))["sum"]["requests"]["total"] == len(paths) and s,
                    "the sum over all nodes is another number of requests")["sum"]
    written = sum(node.written() for node in nodes) - before
    stop_fleet(engine, nodes)
    return said, written, c, origin.end()


def saved():
    paths = of_load("--paths").split()
    distinct = int(re.search(r"distinct_bytes=(\d+)", of_load("--facts"))[1])
    (said, two, c2, fetched2), (all_said, one, c1, fetched1) = (run_saved(paths, distinct * SHARE // 100, s) for s in (2, 1))
    ratio, true = said["disk"]["saved_ratio"], 1 - two / one
    hits, counted = said["requests"]["hit_ratio"], c2.hits / len(paths)
    hits_all, counted_all = said["requests"]["baseline_hit_ratio"], c1.hits / len(paths)
    off = abs(ratio - true) > 0.02 or abs(hits - counted) > 0.001 or abs(hits_all - counted_all) > 0.02
    print("saved   %d nodes: said to be saved %.1f%%, true %.1f%% (%.1f of %.1f MB written); with sightings: 1 it says %.1f%%; hits said "
          "%.2f%%, counted by clients %.2f%%; of admitting all said %.2f%%, counted %.2f%%; origin requests more than that: %d said, %d true, "
          "of %d%s" % (
              NODES, 100 * ratio, 100 * true, two / 1e6, one / 1e6, 100 * all_said["disk"]["saved_ratio"], 100 * hits, 100 * counted,
              100 * hits_all, 100 * counted_all, said["origin"]["net_requests"], fetched2 - fetched1, fetched2,
              "  <-- off" if off else ""), flush=True)


def zones():
    paths = of_load("--paths").split()
    disk = int(re.search(r"distinct_bytes=(\d+)", of_load("--facts"))[1]) * SHARE // 100
    for digests in (False, True):
        make_secret()
        origin, engines = Origin(), [start_engine("%s/redis%d" % (WORK, i)) for i in range(1 if digests else 2)]
        nodes = [Node("n%d" % i, origin, engines[i % len(engines)][1], disk // 2, disk // 20, zone="z%d" % (i % 2)) for i in range(4)]
        for i, (_, path) in enumerate(engines):
            wait_well(nodes[i::len(engines)])
            settle(path, nodes[i::len(engines)])
        before = sum(node.cpu() for node in nodes)
        c = Clients([node.port for node in nodes], paths, RATE).run()
        cpu = sum(node.cpu() for node in nodes) - before
        time.sleep(1)
        asked, vain, answered = (100 * total(nodes, "hops", "zone_" + key) / len(paths) for key in ("asked", "in_vain", "answered"))
        written, heard = total(nodes, "disk", "written_bytes"), total(nodes, "fleet", "digests_heard")
        stop_fleet(None, nodes)
        for engine, _ in engines:
            stop_fleet(engine, [])
        print("zones   %s digests: origin %.2f%%, asked across %.2f%%, answered %.2f%%, in vain %.2f%%, written %.1f MB, digests "
              "read %d, failed %d, %.1f us a request" % (
                  "with   " if digests else "without", 100 * origin.end() / len(paths), asked, answered, vain, written / 1e6,
                  heard, c.failed, 1e6 * cpu / len(paths)), flush=True)


def load(port, objects):
    subprocess.run(ASIDE + [BIN + "/load", "--port", str(port), "--same", str(objects), "--bytes", "1024", "--requests", str(objects),
                    "--connections", "16"], check=True, stdout=subprocess.DEVNULL)


def hop():
    objects = int(os.environ.get("OBJECTS", 40000))
    for _ in range(3):
        row = []
        for n in (1, 2):
            if n == 1:
                origin, engine = Origin(), None
                nodes = [Node("n0", origin, None, 1 << 28, 1 << 28)]
            else:
                origin, engine, nodes = start_fleet(n, 1 << 28, 1 << 29, apart=True)
            for _ in range(2):  # all is on disk then, and in RAM
                load(nodes[0].port, objects)
                time.sleep(21 if n > 1 else 1)  # copies go, and nobody answers with them any more
            taken, before = total(nodes, "hops", "taken"), sum(node.cpu() for node in nodes)
            load(nodes[0].port, objects)
            cpu = sum(node.cpu() for node in nodes) - before
            row.append((1e6 * cpu / objects, (total(nodes, "hops", "taken") - taken) / objects))
            if n > 1:
                paths = ["/cdn/%016x/1024" % i for i in range(2000)]
                Clients([nodes[0].port], paths).run()
                time.sleep(21)
                c = Clients([nodes[0].port], paths, connections=1).run()
                took = sorted(t for _, t in c.times)
            stop_fleet(engine, nodes)
            origin.end()
        (one, _), (two, part) = row
        print("hop     a hit %.1f us; with %.1f%% of them at another node %.1f us: a hop is %.1f us of CPU in all; p50 of a "
              "request by one client %.3f ms, of the quickest quarter %.3f, of the slowest %.3f" % (
                  one, 100 * part, two, (two - one) / max(part, 0.01), 1e3 * took[len(took) // 2],
                  1e3 * took[len(took) // 8], 1e3 * took[len(took) * 7 // 8]), flush=True)


def failing(name, begin, end):
    origin, engine, nodes = start_fleet(NODES, 1 << 30, 1 << 27)
    r = random.Random(1)
    paths = ["/cdn/%016x/1024" % int(r.paretovariate(0.7)) for _ in range(RATE * SECONDS)]

    async def all():
        c = Clients([n.port for n in nodes[1:]], paths, RATE, 64)
        task = asyncio.create_task(c.all())
        await asyncio.sleep(SECONDS / 3)
        begin(nodes[0].p)
        await asyncio.sleep(SECONDS / 2)
        end(nodes[0].p)
        await task
        return c
    c = asyncio.run(all())
    third = SECONDS / 3
    print("%-7s of %d requests %d failed; p99 before %.1f ms, in the 6 s from then on %.1f ms, longest %.1f ms" % (
        name, len(paths), c.failed, c.quantile(0.99, 1, third), c.quantile(0.99, third, third + 6),
        c.quantile(1, third, third + 6)), flush=True)
    if nodes[0].p.poll() is not None:
        nodes[0].start()
    stop_fleet(engine, nodes)
    origin.end()


async def drained(engine, path, nodes, origin):
    await asyncio.to_thread(subprocess.run, [TWICE, "fleet", "drain", nodes[0].name, "--admin", "127.0.0.1:%d" % nodes[0].admin],
                            check=True, stdout=subprocess.DEVNULL)


async def grown(engine, path, nodes, origin):
    for i in range(NODES):
        nodes.append(await asyncio.to_thread(Node, "n%d" % len(nodes), origin, path, nodes[0].disk, nodes[0].memory))
        await asyncio.sleep(1)


async def upgraded(engine, path, nodes, origin):
    for node in nodes:
        await asyncio.to_thread(node.upgrade)


def changing(name, change):
    paths = of_load("--paths").split()
    distinct = int(re.search(r"distinct_bytes=(\d+)", of_load("--facts"))[1])
    disk, half, row = distinct * SHARE // 100, len(paths) // 2, []
    for changes in (False, True):
        origin, engine, nodes = start_fleet(NODES, disk, disk // 10)
        settle(WORK + "/redis", nodes)

        async def all():
            c = Clients([n.port for n in nodes], paths, RATE, 64)
            task = asyncio.create_task(c.all())
            while c.i < half:
                await asyncio.sleep(0.01)
            before = c.hits
            if changes:
                await change(engine, WORK + "/redis", nodes, origin)
            await task
            return c, c.hits - before
        c, hits = asyncio.run(all())
        row.append((1 - hits / (len(paths) - half), c.failed, c.quantile(0.99, half / RATE), c.quantile(1, half / RATE)))
        stop_fleet(engine, nodes)
        origin.end()
    (steady, _, usual, _), (changed, failed, p99, longest) = row
    print("%-7s of %d requests %d failed; no hits in the second half %.2f%%, without a change %.2f%%: %+.1f%%; p99 %.1f ms, "
          "%.1f without, longest %.1f ms" % (name, len(paths), failed, 100 * changed, 100 * steady, 100 * (changed / steady - 1),
                                            p99, usual, longest), flush=True)


def main():
    if PIN:
        os.sched_setaffinity(0, {1})
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
    if not shutil.which("redis-server"):
        raise SystemExit("bench: redis-server is missing: apt-get install redis-server")
    parts = {"mix": mix, "saved": saved, "zones": zones, "hop": hop,
             "kill": lambda: failing("kill", lambda p: p.kill(), lambda p: p.wait()),
             "stop": lambda: failing("stop", lambda p: p.send_signal(signal.SIGSTOP), lambda p: p.send_signal(signal.SIGCONT)),
             "drain": lambda: changing("drain", drained), "grow": lambda: changing("grow", grown),
             "upgrade": lambda: changing("upgrade", upgraded)}
    try:
        for part in sys.argv[1:] or parts:
            parts[part]()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)


main()
