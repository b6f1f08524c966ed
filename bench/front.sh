#!/bin/bash
# front.sh - CPU of the proxy for a cached answer (BYTES, 1024) by TLS and HTTP/2, and for a handshake, beside
# nginx, HAProxy, h2o (which sends a file) and a server that does nothing else (front_bare.c). Rounds are interleaved; the ratios are
# to each of the same round.
#
#	bench/front.sh [ROUNDS [KIND...]]     # KIND: tls h2x1 h2x10 h2x100 full full12 again12; all of them
#
#	tls     64 connections, HTTP/1.1 by TLS 1.3
#	h2x1    64 connections with 1 request at a time; h2x10: 16 with 10, h2x100: 4 with 100
#	full    a connection with a full handshake, and no request; full12, again12: by TLS 1.2, full and resumed
# REQUESTS (100,000) a round.
. bench/lib.sh
. bench/peers.sh
need h2load "apt-get install nghttp2-client"
need openssl "apt-get install openssl"

ROUNDS=${1:-5}
shift $(($# > 0))
KINDS=${*:-tls h2x1 h2x10 h2x100 full full12 again12}
SERVERS=$(only_here "${SERVERS:-bare twice nginx haproxy h2o}")
REQUESTS=${REQUESTS:-100000}
BYTES=${BYTES:-1024}
SHM=$(mktemp -d /dev/shm/twice-bench.XXXXXX)
chmod 755 "$SHM"
trap 'clean_up_peers; rm -rf "$SHM"' EXIT
path=/cdn/0123456789abcdef/$BYTES

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 \
	-addext subjectAltName=IP:127.0.0.1 -keyout "$WORK/key.pem" -out "$WORK/cert.pem" 2>"$WORK/openssl.log" ||
	die "openssl makes no certificate: $(tail -1 "$WORK/openssl.log")"
cat "$WORK/cert.pem" "$WORK/key.pem" >"$WORK/both.pem"

start_h2o() { # port
	mkdir -p "$WORK/h2o/$(dirname "$path")"
	head -c "$BYTES" /dev/zero >"$WORK/h2o$path"
	chmod -R a+rX "$WORK"
	cat >"$WORK/h2o.conf" <<-EOT
		num-threads: 1
		user: root
		listen: { host: 127.0.0.1, port: $1, ssl: { certificate-file: $WORK/cert.pem, key-file: $WORK/key.pem } }
		hosts: { default: { paths: { /: { file.dir: $WORK/h2o } } } }
	EOT
	$PIN h2o -c "$WORK/h2o.conf" 9>&- >"$WORK/h2o.log" 2>&1 &
	PROXY=$!
	PIDS="$PIDS $PROXY"
	wait_port "$1"
}

start_origin
for s in $SERVERS; do
	case $s in
	bare)
		TLS_PORT=$(free_port)
		$PIN "$BIN/front_bare" "$TLS_PORT" "$WORK/both.pem" "$BYTES" 9>&- &
		PROXY=$!
		PIDS="$PIDS $PROXY"
		wait_port "$TLS_PORT"
		;;
	twice)
		TLS_PORT=$(free_port)
		SETTINGS="tls: { certificates: [ $WORK/both.pem ] }" TLS_LISTEN="https://127.0.0.1:$TLS_PORT" \
			start_twice "$SHM/twice" 256MiB 64MiB 2
		wait_port "$TLS_PORT"
		;;
	haproxy)
		TLS_PORT=$(free_port)
		HAPROXY_TLS="bind 127.0.0.1:$TLS_PORT ssl crt $WORK/both.pem alpn h2,http/1.1" start_haproxy 268435456
		wait_port "$TLS_PORT"
		;;
	h2o) # no cache: it sends a file
		TLS_PORT=$(free_port)
		start_h2o "$TLS_PORT"
		;;
	nginx)
		TLS_PORT=$(free_port)
		NGINX_TLS="listen 127.0.0.1:$TLS_PORT ssl http2 reuseport; ssl_certificate $WORK/cert.pem;
			ssl_certificate_key $WORK/key.pem; ssl_protocols TLSv1.2 TLSv1.3;" \
			start_nginx "$SHM/nginx" 256m 1
		wait_port "$TLS_PORT"
		;;
	esac
	eval "pid_$s=$PROXY port_$s=$TLS_PORT"
	[ "$s" != h2o ] || [ "$(curl -sk "https://127.0.0.1:$TLS_PORT$path" | wc -c)" -eq "$BYTES" ] || die "h2o does not answer $path"
	[ "$s" != h2o ] || continue
	for _ in 1 2 3; do curl -sk -o /dev/null "https://127.0.0.1:$TLS_PORT$path"; done
	curl -sk -D- -o /dev/null "https://127.0.0.1:$TLS_PORT$path" | grep -qiE '^cache-status:.*; hit|^age:' ||
		die "$s does not answer $path from its cache"
done

one_round() { # server: prints microseconds of CPU per request of $KIND
	local pid port cpu n=$REQUESTS how= done
	eval "pid=\$pid_$1 port=\$port_$1"
	case $KIND in
	tls) how="--h1 -c64 -m1" ;;
	h2x1) how="-c64 -m1" ;;
	h2x10) how="-c16 -m10" ;;
	h2x100) how="-c4 -m100" ;;
	esac
	cpu=$(cpu_us "$pid")
	if [[ $KIND == full* || $KIND == again* ]]; then
		local what=(-new -tls1_3)
		[ "$KIND" = full ] || what=(-new -tls1_2)
		[ "$KIND" != again12 ] || what=(-reuse -tls1_2)
		done=$($ASIDE openssl s_time -connect "127.0.0.1:$port" "${what[@]}" -time 2 2>/dev/null |
			sed -n 's/^\([0-9]*\) connections in [0-9]* real seconds.*/\1/p')
	else
		done=$($ASIDE h2load -n "$n" $how "https://127.0.0.1:$port$path" |
			sed -n 's/^requests:.*, \([0-9]*\) succeeded.*/\1/p')
		[ "$done" = "$n" ] || die "$1 answered $done of $n requests of $KIND"
	fi
	cpu=$(($(cpu_us "$pid") - cpu))
	awk -v c="$cpu" -v n="$done" 'BEGIN { printf "%.3f\n", c / n }'
}

machine
for KIND in $KINDS; do
	echo
	echo "# $KIND: CPU microseconds each"
	rounds "$ROUNDS" "$SERVERS"
done
