#!/bin/bash
# idle_tls.sh - what an idle connection of TLS, and one of HTTP/2 by TLS, costs in memory: 10,000 that each
# had one answer, to a proxy that had spoken TLS only a few times before.
#
#	bench/idle_tls.sh [COUNT [KIND...]]        # KIND: tls h2; both.   SERVER=nginx: the same for nginx
. bench/lib.sh
need openssl "apt-get install openssl"

COUNT=${1:-10000}
shift $(($# > 0))
KINDS=${*:-tls h2}
ulimit -n "$(ulimit -Hn)"
[ "$(ulimit -n)" -ge $((COUNT + 500)) ] ||
	die "the limit of open files is $(ulimit -n); run as root or raise it (ulimit -n) above $((COUNT + 500))"

machine
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 \
	-addext subjectAltName=IP:127.0.0.1 -keyout "$WORK/key.pem" -out "$WORK/cert.pem" 2>"$WORK/openssl.log" ||
	die "openssl makes no certificate: $(tail -1 "$WORK/openssl.log")"
cat "$WORK/cert.pem" "$WORK/key.pem" >"$WORK/both.pem"
start_origin
said() { # word: waits until the crowd says it
	for _ in $(seq 1200); do
		grep -q "^$1=" "$WORK/crowd.out" && break
		sleep 0.1
	done
	grep "^$1=" "$WORK/crowd.out" || die "the crowd did not get as far as \"$1\""
}

for kind in $KINDS; do
	TLS_PORT=$(free_port)
	case ${SERVER:-twice} in
	twice)
		SETTINGS="tls: { certificates: [ $WORK/both.pem ], strict_host: off }" \
			TLS_LISTEN="https://127.0.0.1:$TLS_PORT" start_twice "$WORK/cache.$kind" 256MiB 64MiB 2
		;;
	nginx)
		NGINX_TLS="listen 127.0.0.1:$TLS_PORT ssl http2 reuseport; ssl_certificate $WORK/cert.pem;
			ssl_certificate_key $WORK/key.pem; ssl_protocols TLSv1.2 TLSv1.3;" \
			start_nginx "$WORK/cache.$kind" 256m 1
		;;
	esac
	wait_port "$TLS_PORT"
	"$BIN/idle_tls" "$TLS_PORT" 100 "$kind" </dev/null >/dev/null # code and tables are touched now
	before=$(rss_kib "$PROXY")
	rm -f "$WORK/crowd.in"
	mkfifo "$WORK/crowd.in"
	$ASIDE "$BIN/idle_tls" "$TLS_PORT" "$COUNT" "$kind" <"$WORK/crowd.in" >"$WORK/crowd.out" &
	crowd=$!
	PIDS="$PIDS $crowd"
	exec 8>"$WORK/crowd.in"
	said idle
	sleep 3 # an idle session of HTTP/2 gives back memory after a second
	after=$(rss_kib "$PROXY")
	echo "${SERVER:-twice}, $kind: RSS $before KiB before, $after KiB with idle connections:" \
		"$(awk -v a="$after" -v b="$before" -v n="$COUNT" 'BEGIN { printf "%.2f", (a - b) / n }') KiB each"
	exec 8>&-
	said idle_well
	stop "$PROXY"
done
