"""text_peers.py - nginx and Varnish as text_mix.py runs them beside twice: one worker, keep-alive on both sides, no access log.

nginx       proxy_cache with min_uses 2, gzip on for text with gzip_vary, level 5 from 1 KiB on. It keeps a variant of each spelling
            of Accept-Encoding where its origin says Vary, and compresses each answer anew that came plain.
nginx-one   the same, but the origin is asked for gzip whoever asks, its Vary is ignored, and gunzip expands for who takes none.
varnish     do_gzip for text: it asks for gzip, packs what comes plain, keeps that alone and expands it. -s file. It knows no
            second sighting, so that it writes whatever it fetches.

Both read what they wrote through the page cache, which has all the memory of the machine. Of Debian: apt-get install nginx-light varnish gcc
(Varnish compiles its configuration).
"""
import os
import shutil
import subprocess
import tempfile

NGINX = """
daemon off; user root; worker_processes 1; pid PLACE/pid; error_log PLACE/log warn; worker_rlimit_nofile 20000;
events { worker_connections 16000; multi_accept on; }
http {
    types { }
    access_log off; sendfile on; tcp_nodelay on; tcp_nopush on;
    keepalive_requests 1000000000; keepalive_timeout 300s;
    open_file_cache max=100000 inactive=300s;
    client_body_temp_path PLACE/body; proxy_temp_path PLACE/proxy; fastcgi_temp_path PLACE/fastcgi;
    uwsgi_temp_path PLACE/uwsgi; scgi_temp_path PLACE/scgi;
    proxy_cache_path PLACE/cache levels=1:2 keys_zone=c:100m max_size=DISK inactive=24h use_temp_path=off;
    map $upstream_cache_status $seen { HIT "nginx; hit"; default "nginx; fwd=uri-miss"; }
    gzip on; gzip_vary on; gzip_proxied any; gzip_comp_level 5; gzip_min_length 1024;
    gzip_types text/plain text/css text/xml application/json application/javascript;  # text/html always is one
    upstream origin { server 127.0.0.1:ORIGIN; keepalive 64; keepalive_requests 1000000000; }
    server {
        listen 127.0.0.1:LISTEN reuseport;
        location / {
            proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_busy_buffers_size 64k; proxy_buffers 16 32k;
            proxy_cache c; proxy_cache_min_uses 2; add_header Cache-Status $seen;
            ONE
        }
    }
}
"""
ONE = "proxy_set_header Accept-Encoding gzip; proxy_ignore_headers Vary; gunzip on;"
VARNISH = """
vcl 4.1;
backend default { .host = "127.0.0.1"; .port = "ORIGIN"; }
sub vcl_backend_response { if (beresp.http.Content-Type ~ "^text/") { set beresp.do_gzip = true; } }
sub vcl_deliver {
    if (obj.hits > 0) { set resp.http.Cache-Status = "varnish; hit"; }
    else { set resp.http.Cache-Status = "varnish; fwd=uri-miss"; }
}
"""
PROGRAMS = {"nginx": "nginx", "nginx-one": "nginx", "varnish": "varnishd"}


def here():
    """Those that can be started; a line for each that cannot."""
    for name, program in PROGRAMS.items():
        if shutil.which(program):
            yield name
        else:
            print("# %s is not installed: left out" % name)


def command(name, place, listen, origin, disk):
    """How it is started, with all its files below place, but for Varnish's log, which it maps: see end."""
    text = VARNISH if name == "varnish" else NGINX.replace("ONE", ONE if name == "nginx-one" else "")
    for word, value in ("PLACE", place), ("ORIGIN", origin), ("LISTEN", listen), ("DISK", disk):
        text = text.replace(word, str(value))
    with open(place + "/conf", "w") as f:
        f.write(text)
    if name != "varnish":
        return ["nginx", "-p", place, "-c", place + "/conf"]
    os.symlink(tempfile.mkdtemp(prefix="twice-varnish.", dir="/dev/shm"), place + "/logs")
    return ["varnishd", "-F", "-j", "none", "-n", os.path.realpath(place + "/logs"), "-a", "127.0.0.1:%d" % listen, "-T", "none",
            "-f", place + "/conf", "-s", "file,%s/storage,%d" % (place, disk), "-p", "thread_pools=1", "-p", "thread_pool_min=50",
            "-p", "thread_pool_max=200", "-p", "timeout_idle=300", "-p", "nuke_limit=100000"]


def end(place):
    if os.path.islink(place + "/logs"):
        subprocess.run(["rm", "-rf", os.path.realpath(place + "/logs")], check=True)


def family(pid):
    """It and its children, which do the work."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [pid] + [int(c) for c in f.read().split()]
