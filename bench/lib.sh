# lib.sh - what the bench scripts share: start things, measure them, end them by their ids.
# Sourced with the repository as the working directory. Everything lives in one temporary
# directory below BENCH_DIR (default /var/tmp: a real disk; write counts of a tmpfs are zero).

set -u
export LC_ALL=C

BIN=${BIN:-build/release/bench}
TWICE=${TWICE:-build/twice}
WORK=$(mktemp -d "${BENCH_DIR:-/var/tmp}/twice-bench.XXXXXX")
HZ=$(getconf CLK_TCK)
PIDS=

# With two cores or more: the measured process alone on one, its clients and origin on another.
if [ "$(nproc)" -ge 2 ]; then
	PIN="taskset -c 0"
	ASIDE="taskset -c 1"
else
	PIN= ASIDE=
fi

die() {
	echo "bench: $*" >&2
	exit 1
}

clean_up() {
	for pid in $PIDS; do kill "$pid" 2>/dev/null; done
	for pid in $PIDS; do wait "$pid" 2>/dev/null; done
	rm -rf "$WORK"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

need() { # program, how to get it
	command -v "$1" >/dev/null || die "$1 is missing: $2"
}

stop() { # pid
	kill "$1" 2>/dev/null
	wait "$1" 2>/dev/null
	PIDS=$(printf '%s\n' $PIDS | grep -vx "$1" | tr '\n' ' ')
}

free_port() { # below the range the kernel hands out by itself
	local port
	while port=$((20000 + RANDOM % 12000)) && (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
	echo "$port"
}

lives() { # the process that was started last has not ended
	local last
	# shellcheck disable=SC2086 # ids
	last=$(printf '%s\n' $PIDS | tail -1)
	[ -z "$last" ] || kill -0 "$last" 2>/dev/null
}

wait_port() { # port: until somebody listens there, for as long as who should is alive (under valgrind: minutes)
	for _ in $(seq 6000); do
		(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
		lives || break
		sleep 0.05
	done
	tail -n 20 "$WORK"/*.log >&2
	die "nothing listens on port $1"
}

value() { # key, file or stdin with key=value words: the last one
	tr ' ' '\n' <"${2:-/dev/stdin}" | sed -n "s/^$1=//p" | tail -1
}

# ---- the other side ---------------------------------------------------------------------------

start_origin() { # [max-age in seconds]; sets ORIGIN_PORT
	rm -f "$WORK/origin.in" "$WORK/origin.out"
	mkfifo "$WORK/origin.in"
	$ASIDE "$BIN/origin" 0 1 "${1:-86400}" <"$WORK/origin.in" >"$WORK/origin.out" &
	ORIGIN=$!
	PIDS="$PIDS $ORIGIN"
	exec 9>"$WORK/origin.in" # it serves until this closes
	for _ in $(seq 100); do
		ORIGIN_PORT=$(value port "$WORK/origin.out")
		[ -n "$ORIGIN_PORT" ] && return
		sleep 0.05
	done
	die "the origin did not start"
}

stop_origin() { # it says then what it served
	exec 9>&-
	wait "$ORIGIN"
	PIDS=$(printf '%s\n' $PIDS | grep -vx "$ORIGIN" | tr '\n' ' ')
}

# ---- proxies: each start_* sets PROXY (its first pid) and PORT ----------------------------------

start_twice() { # cache dir, disk bytes, memory bytes, sightings [, cores prefix]; SETTINGS: a line of YAML more; TLS_LISTEN: https://...; AT: the port
	PORT=${AT:-$(free_port)} ADMIN=$(free_port)
	cat >"$WORK/twice.yaml" <<-EOF
		listen: [ "127.0.0.1:$PORT"${TLS_LISTEN:+, "$TLS_LISTEN"} ]
		admin: "127.0.0.1:$ADMIN"
		workers: ${WORKERS:-1}
		origins:
		  - url: http://127.0.0.1:$ORIGIN_PORT
		cache:
		  dir: $1
		  disk: $2
		  memory: $3
		admission:
		  sightings: $4
		timeouts:
		  idle: 10m
		${SETTINGS:-}
	EOF
	mkdir -p "$1"
	${5-$PIN} "$TWICE" run -c "$WORK/twice.yaml" 9>&- 2>"$WORK/twice.log" &
	PROXY=$!
	PIDS="$PIDS $PROXY"
	wait_port "$PORT"
	wait_port "$ADMIN"
}

# Debian's nginx as its administrators tune it: one worker, keep-alive on both sides, no access log.
start_nginx() { # cache dir ("" for none), disk bytes, proxy_cache_min_uses [, cores prefix]
	PORT=$(free_port)
	local cache_path= cache_use=
	if [ -n "$1" ]; then
		mkdir -p "$1"
		chmod 777 "$1"
		cache_path="proxy_cache_path $1 levels=1:2 keys_zone=c:100m max_size=$2 inactive=24h use_temp_path=off;
			map \$upstream_cache_status \$seen { HIT \"nginx; hit\"; default \"nginx; fwd=uri-miss\"; }"
		cache_use="proxy_cache c; proxy_cache_min_uses $3; add_header Cache-Status \$seen;"
	fi
	mkdir -p "$WORK/nginx"
	chmod 755 "$WORK"
	cat >"$WORK/nginx.conf" <<-EOF
		daemon off;
		worker_processes 1;
		pid $WORK/nginx/pid;
		error_log $WORK/nginx.log warn;
		worker_rlimit_nofile 20000;
		events { worker_connections 16000; multi_accept on; }
		http {
			access_log off;
			sendfile on;
			tcp_nodelay on;
			tcp_nopush on;
			keepalive_requests 1000000000;
			keepalive_timeout 300s;
			open_file_cache max=100000 inactive=300s;
			client_body_temp_path $WORK/nginx/body;
			proxy_temp_path $WORK/nginx/proxy;
			fastcgi_temp_path $WORK/nginx/fastcgi;
			uwsgi_temp_path $WORK/nginx/uwsgi;
			scgi_temp_path $WORK/nginx/scgi;
			$cache_path
			upstream origin {
				server 127.0.0.1:$ORIGIN_PORT;
				keepalive 64;
				keepalive_requests 1000000000;
			}
			server {
				listen 127.0.0.1:$PORT reuseport;
				${NGINX_TLS:-}
				location / {
					proxy_pass http://origin;
					proxy_http_version 1.1;
					proxy_set_header Connection "";
					proxy_busy_buffers_size 64k;
					proxy_buffers 16 32k;
					$cache_use
				}
			}
		}
	EOF
	${4-$PIN} nginx -p "$WORK/nginx" -c "$WORK/nginx.conf" 9>&- &
	PROXY=$!
	PIDS="$PIDS $PROXY"
	wait_port "$PORT"
}

start_bare() { # body bytes
	PORT=$(free_port)
	$PIN "$BIN/bare" "$PORT" "$1" 9>&- &
	PROXY=$!
	PIDS="$PIDS $PROXY"
	wait_port "$PORT"
}

start_relay() {
	PORT=$(free_port)
	$PIN "$BIN/relay" "$PORT" "$ORIGIN_PORT" 9>&- &
	PROXY=$!
	PIDS="$PIDS $PROXY"
	wait_port "$PORT"
}

# ---- measures ---------------------------------------------------------------------------------

family() { # pid: itself and its children (nginx: master, worker, cache manager)
	echo "$1" $(cat "/proc/$1/task/$1/children" 2>/dev/null)
}

cpu_us() { # pid: user and system time of its family so far, microseconds
	for pid in $(family "$1"); do cat "/proc/$pid/stat"; done 2>/dev/null |
		sed 's/.*) //' | awk -v hz="$HZ" '{ t += $12 + $13 } END { printf "%.0f\n", t * 1e6 / hz }'
}

write_bytes() { # pid: bytes its family caused to be written, by the operating system's count
	for pid in $(family "$1"); do cat "/proc/$pid/io"; done 2>/dev/null |
		awk '/^write_bytes/ { n += $2 } END { printf "%.0f\n", n }'
}

rss_kib() { # pid
	for pid in $(family "$1"); do cat "/proc/$pid/status"; done 2>/dev/null |
		awk '/^VmRSS/ { n += $2 } END { print n }'
}

stats() { # key of /stats of the running twice: the first of that name
	curl -s "http://127.0.0.1:$ADMIN/stats" | grep -o "\"$1\": *[0-9.]*" | head -1 | sed 's/.*: *//'
}

machine() { # what the numbers were made on
	echo "# $(date -u +%FT%TZ)  commit $(git rev-parse --short HEAD)$(git diff --quiet HEAD || echo +)" \
		"  $(nproc) x$(sed -n 's/^model name.*:/ /p' /proc/cpuinfo | head -1)" \
		"  Linux $(uname -r)  load $(cut -d' ' -f1-3 /proc/loadavg)"
}

# Calls one_round SERVER for every server, round by round, so that whatever else the machine does
# falls on all of them; then medians, and ratios within each round with their spread.
rounds() { # how many, servers
	local table="$WORK/rounds" s
	echo "$2" >"$table"
	echo "$2" | awk '{ for (i = 1; i <= NF; i++) printf "%10s", $i; print "" }'
	for _ in $(seq "$1"); do
		for s in $2; do
			one_round "$s" >"$WORK/one"
			printf '%s ' "$(cat "$WORK/one")" >>"$table"
			printf '%10s' "$(cat "$WORK/one")"
		done
		echo >>"$table"
		echo
	done
	awk '
		function median(a, n,   i, j, t) {
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && a[j] < a[j - 1]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
			return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
		}
		NR == 1 { for (i = 1; i <= NF; i++) name[i] = $i; k = NF; next }
		{ n++; for (i = 1; i <= k; i++) v[i, n] = $i }
		END {
			for (i = 1; i <= k; i++) {
				for (r = 1; r <= n; r++) a[r] = v[i, r]
				m = median(a, n)
				printf "%-8s median %7.2f us   range %.2f to %.2f\n", name[i], m, a[1], a[n]
			}
			for (j = 1; j <= k; j++) {
				if (name[j] == "twice") continue
				for (i = 1; i <= k; i++) {
					if (name[i] != "twice" ) continue
					for (r = 1; r <= n; r++) a[r] = v[i, r] / v[j, r]
					m = median(a, n)
					printf "%s/%-8s median %6.3f   range %.3f to %.3f\n", name[i], name[j], m, a[1], a[n]
				}
			}
		}' "$table"
}
