# peers.sh - HAProxy, Varnish and Traffic Server as their administrators tune them: one worker thread, keep-alive
# on both sides, no access log. Sourced behind lib.sh. Each has its own files, ports and folders below WORK; no
# service of the system is touched. Of Debian: apt-get install haproxy varnish trafficserver gcc (Varnish
# compiles its configuration).
#
# own_hits says what the server itself counts, so that a bench can see that its hits were hits.

VARNISH_DIR=
clean_up_peers() {
	clean_up
	[ -z "$VARNISH_DIR" ] || rm -rf "$VARNISH_DIR"
}
trap clean_up_peers EXIT

is_here() { # server: can it be started?
	local program=$1
	case $1 in
	plain) program=nginx ;;
	varnish*) program=varnishd ;;
	ats*) program=traffic_server ;;
	auto | bare | before | relay | routes | twice*) return 0 ;;
	esac
	command -v "${program%%[12]}" >/dev/null
}

only_here() { # servers: those of them that can be started; a line for each that cannot
	local s
	for s in $1; do
		if is_here "$s"; then
			printf '%s ' "$s"
		else
			echo "# $s is not installed: left out" >&2
		fi
	done
}

# All in memory: it knows no disk, and no second sighting.
start_haproxy() { # bytes of its cache [, cores prefix]
	local megabytes=$(($1 / 1048576))
	PORT=$(free_port) STATS_PORT=$(free_port)
	mkdir -p "$WORK/haproxy"
	cat >"$WORK/haproxy/cfg" <<-EOT
		global
			nbthread 1
			maxconn 8000
		defaults
			mode http
			http-reuse always
			timeout connect 10s
			timeout client 300s
			timeout server 300s
		cache c
			total-max-size $megabytes
			max-object-size $(((megabytes << 20) / 2 - 1 < 4194304 ? (megabytes << 20) / 2 - 1 : 4194304))
			max-age 86400
		frontend f
			bind 127.0.0.1:$PORT
			${HAPROXY_TLS:-}
			http-request cache-use c
			http-response cache-store c
			default_backend origin
		backend origin
			server origin 127.0.0.1:$ORIGIN_PORT
		frontend stats
			bind 127.0.0.1:$STATS_PORT
			stats enable
			stats uri /stats
	EOT
	${2-$PIN} haproxy -db -f "$WORK/haproxy/cfg" 9>&- 2>"$WORK/haproxy/log" &
	PROXY=$!
	PIDS="$PIDS $PROXY"
	wait_port "$PORT"
	wait_port "$STATS_PORT"
}

# All in memory, which is how it is meant to run; it knows no second sighting.
start_varnish() { # bytes of its cache [, cores prefix]
	PORT=$(free_port) STATS_PORT=0
	VARNISH_DIR=$(mktemp -d /dev/shm/twice-varnish.XXXXXX) # it logs there, to a file that it maps
	mkdir -p "$WORK/varnish"
	cat >"$WORK/varnish/vcl" <<-EOT
		vcl 4.1;
		backend default { .host = "127.0.0.1"; .port = "$ORIGIN_PORT"; }
	EOT
	${2-$PIN} varnishd -F -j none -n "$VARNISH_DIR" -a "127.0.0.1:$PORT" -f "$WORK/varnish/vcl" -T none \
		-s "malloc,$1" -p thread_pools=1 -p thread_pool_min=50 -p thread_pool_max=200 \
		-p timeout_idle=300 -p nuke_limit=100000 9>&- >"$WORK/varnish/log" 2>&1 &
	PROXY=$!
	PIDS="$PIDS $PROXY"
	wait_port "$PORT"
}

# Disk and memory; its second sighting is the plugin cache_promote.
start_ats() { # cache dir, disk bytes, memory bytes, sightings [, cores prefix]
	local home="$1.home" promote=
	local etc=$home/etc
	PORT=$(free_port) STATS_PORT=$PORT
	[ "$4" -gt 1 ] && promote="@plugin=cache_promote.so @pparam=--policy=lru @pparam=--hits=$4 @pparam=--buckets=1000000"
	mkdir -p "$etc" "$home/run" "$home/log" "$home/state" "$1"
	chmod 755 "$WORK"
	cat >"$home/runroot.yaml" <<-EOT
		prefix: /usr
		exec_prefix: /usr
		bindir: /usr/bin
		sbindir: /usr/bin
		sysconfdir: $etc
		datadir: $home/state
		includedir: /usr/include
		libdir: /usr/lib/trafficserver
		libexecdir: /usr/lib/trafficserver/modules
		localstatedir: $home/state
		runtimedir: $home/run
		logdir: $home/log
		cachedir: $1
	EOT
	cat >"$etc/records.config" <<-EOT
		CONFIG proxy.config.http.server_ports STRING $PORT:ip-in=127.0.0.1
		CONFIG proxy.config.exec_thread.autoconfig INT 0
		CONFIG proxy.config.exec_thread.limit INT 1
		CONFIG proxy.config.exec_thread.affinity INT 0
		CONFIG proxy.config.accept_threads INT 0
		CONFIG proxy.config.task_threads INT 1
		CONFIG proxy.config.admin.user_id STRING #-1
		CONFIG proxy.config.log.logging_enabled INT 0
		CONFIG proxy.config.raw_stat_sync_interval_ms INT 200
		CONFIG proxy.config.crash_log_helper STRING NULL
		CONFIG proxy.config.cache.ram_cache.size INT $3
		CONFIG proxy.config.cache.min_average_object_size INT 4000
		CONFIG proxy.config.http.cache.required_headers INT 2
		CONFIG proxy.config.http.insert_response_via_str INT 0
		CONFIG proxy.config.http.keep_alive_no_activity_timeout_in INT 300
		CONFIG proxy.config.http.keep_alive_no_activity_timeout_out INT 300
		CONFIG proxy.config.url_remap.remap_required INT 1
		CONFIG proxy.config.http.server_session_sharing.pool STRING global
	EOT
	echo "map / http://127.0.0.1:$ORIGIN_PORT/ $promote" >"$etc/remap.config"
	echo "$1 $2" >"$etc/storage.config"
	echo stats_over_http.so >"$etc/plugin.config"
	cp /etc/trafficserver/ip_allow.yaml "$etc/"
	${5-$PIN} traffic_server --run-root="$home/runroot.yaml" 9>&- >"$home/out" 2>&1 &
	PROXY=$!
	PIDS="$PIDS $PROXY"
	wait_port "$PORT"
	for _ in $(seq 200); do # it answers before it can cache
		case $(ats_stat proxy.process.cache.bytes_total "$PORT") in '' | 0) sleep 0.05 ;; *) return ;; esac
	done
	die "Traffic Server has no cache: see $home"
}

ats_stat() { # name, port
	curl -s "http://127.0.0.1:$2/_stats" | sed -n "s/^\"$1\": *\"\\([0-9]*\\)\".*/\\1/p"
}

own_hits() { # server, its STATS_PORT: the hits that it counted; nothing where it counts none
	case $1 in
	haproxy*) # of the row of frontend f, the column of that name
		curl -s "http://127.0.0.1:$2/stats;csv" | awk -F, '
			NR == 1 { for (i = 1; i <= NF; i++) if ($i == "cache_hits") col = i }
			$1 == "f" && $2 == "FRONTEND" { print $col }'
		;;
	varnish*) varnishstat -n "$VARNISH_DIR" -1 -f MAIN.cache_hit | awk '{ print $2 }' ;;
	ats*)
		sleep 0.5 # it sums up 5 times a second
		ats_stat proxy.process.http.cache_hit_fresh "$2"
		;;
	esac
}
