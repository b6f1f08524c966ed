/* journal_script.h - the text of the journal's script, in Lua 5.1 as Redis has it. KEYS: secret, journal, purges, state (beat.h). ARGV:
 * fingerprint; order: append, read or renew; the identity that the caller knows; the one that a new journal gets; then of append
 * the most entries, node, items and signature, and of read the position and how many entries.
 *
 * It has no guard: it is the content of a string. */
"local other = redis.call('GET', KEYS[1])\n"
"if not other then redis.call('SET', KEYS[1], ARGV[1])\n"
"elseif other ~= ARGV[1] then return {'secret', other} end\n"
"local order = ARGV[2]\n"
"local journal = redis.call('GET', KEYS[2])\n"
"if not journal or (order == 'renew' and journal == ARGV[3]) then\n"
"  journal = ARGV[4]\n"
"  redis.call('SET', KEYS[2], journal)\n"
"end\n"
"local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)\n"
"last = last[1] and last[1][1] or '0-0'\n"
"local list = {}\n"
"if order == 'append' then\n"
"  last = redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[5], '*',\n"
"    'p', last, 'n', ARGV[6], 'i', ARGV[7], 'm', ARGV[8])\n"
"elseif order == 'read' then\n"
"  list = redis.call('XRANGE', KEYS[3], '(' .. ARGV[5], '+', 'COUNT', ARGV[6])\n"
"end\n"
"local known = (redis.call('HGET', KEYS[4], 'era') or '') .. ':' .. (redis.call('HGET', KEYS[4], 'epoch') or '0')\n"
"return {'journal', journal, last, list, known}\n"
