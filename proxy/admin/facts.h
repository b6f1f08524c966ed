/* facts.h - rows: what a report tells beside the counters of metrics_list.h. Group and key as in
 * /stats, kind, value (r is the report), help. COUNT only grows; LEVEL goes up and down; SHARE and
 * SECONDS are real numbers. */
/*    kind     group                   key                    value                              help */
FACT(SECONDS, "", "uptime_s", r->uptime_s, "seconds since start")
FACT(LEVEL, "health", "level", r->health.judgement.level,
     "0: ok, 1: degraded, 2: failing; /stats says why")
FACT(LEVEL, "health", "since_timestamp_s", r->health.judgement.since_s,
     "unix time since when health.level is what it is")
FACT(SHARE, "requests", "hit_ratio", hit_ratio(r), "requests.hits of requests.total")
FACT(SHARE, "requests", "baseline_hit_ratio", baseline_hit_ratio(r),
     "the same for a cache that admits at first sight")
FACT(SHARE, "bytes", "hit_ratio", byte_hit_ratio(r),
     "body bytes from the cache, of those from cache and origins")
FACT(SHARE, "bytes", "baseline_hit_ratio", baseline_byte_hit_ratio(r),
     "the same for a cache that admits at first sight")
FACT(COUNT, "disk", "written_bytes", r->cache.written_bytes,
     "bytes written below the cache directory, all overhead included")
FACT(COUNT, "disk", "admitted_bytes", r->cache.admitted_bytes, "of them, objects that came in")
FACT(COUNT, "disk", "carried_bytes", r->cache.carried_bytes,
     "of them, objects that moved on because they were hot")
FACT(LEVEL, "disk", "pending_bytes", r->cache.pending_bytes,
     "memory of what waits to be written, at most a second")
FACT(SHARE, "disk", "write_amplification", write_amplification(r),
     "written_bytes in units of admitted_bytes")
FACT(SHARE, "disk", "drive_writes_per_day", drive_writes_per_day(r),
     "written_bytes a day since start, in units of limit_bytes")
FACT(SHARE, "disk", "drive_life_years", drive_life_years(r),
     "until setting cache.endurance is written at the rate since start; 0: not known")
FACT(COUNT, "disk", "baseline_bytes", report_baseline_bytes(r),
     "bytes that admitting at first sight would have written")
FACT(LEVEL, "disk", "saved_bytes", saved_bytes(r), "baseline_bytes less written_bytes")
FACT(SHARE, "disk", "saved_ratio", saved_ratio(r), "saved_bytes of baseline_bytes")
FACT(LEVEL, "disk", "used_bytes", r->cache.used_bytes, "bytes below the cache directory")
FACT(LEVEL, "disk", "left_out", r->cache.disks_left_out,
     "disks of the configuration that could not be used since the start")
FACT(LEVEL, "disk", "limit_bytes", r->cache.limit_bytes, "setting cache.disk")
FACT(LEVEL, "disk", "objects", r->cache.objects, "objects on disk")
FACT(COUNT, "disk", "evicted_objects", r->cache.evicted_objects, "objects that made room on disk")
FACT(COUNT, "disk", "damaged_records", r->cache.damaged_records,
     "records that failed their checksum: misses")
FACT(COUNT, "disk", "scrubbed_bytes", r->cache.scrubbed_bytes,
     "bytes on disk that were checked in the background")
FACT(COUNT, "disk", "scrub_damaged", r->cache.scrub_damaged,
     "of damaged_records, those found in the background")
FACT(COUNT, "disk", "io_errors", r->cache.io_errors, "reads and writes that the system refused")
FACT(COUNT, "disk", "refused_writes", r->cache.refused_writes,
     "objects not written: disk failing, behind or not read yet")
FACT(LEVEL, "disk", "unread_segments", r->cache.unread_segments,
     "segments whose objects are not known yet after a start: nothing is written until 0")
FACT(LEVEL, "disk", "failing", r->cache.failing, "1 while storing is suspended")
FACT(LEVEL, "purges", "kept", r->cache.purges.kept,
     "purges and changed URLs that what is stored is compared with")
FACT(LEVEL, "purges", "room", r->cache.purges.room,
     "so many more purges are kept apart; a quarter before the end those of URLs become purges of hosts")
FACT(COUNT, "purges", "merged", r->cache.purges.merged,
     "purges of URLs and prefixes that became purges of their host, for want of room")
FACT(COUNT, "purges", "shed", r->cache.purges.shed,
     "dropped for want of room: what was stored before them is fetched anew, or validated")
FACT(LEVEL, "ram", "used_bytes", r->cache.ram_used_bytes, "bytes in the RAM tier")
FACT(LEVEL, "ram", "limit_bytes", r->cache.ram_limit_bytes, "setting cache.memory")
FACT(LEVEL, "ram", "objects", r->cache.ram_objects, "objects in the RAM tier")
FACT(COUNT, "ram", "evicted_objects", r->cache.ram_evicted_objects, "objects that made room in RAM")
FACT(COUNT, "origin", "extra_requests", r->baseline.ghost.extra_requests,
     "origin requests that the baseline would have answered")
FACT(COUNT, "origin", "extra_bytes", r->baseline.ghost.extra_bytes,
     "body bytes from origins that the baseline would not have asked for")
FACT(COUNT, "origin", "avoided_requests", r->baseline.ghost.avoided_requests,
     "answers without an origin for which the baseline would have asked one")
FACT(COUNT, "origin", "avoided_bytes", r->baseline.ghost.avoided_bytes,
     "body bytes that the baseline would have fetched and we did not")
FACT(LEVEL, "origin", "net_requests", net_requests(r), "extra_requests less avoided_requests")
FACT(LEVEL, "origin", "net_bytes", net_bytes(r), "extra_bytes less avoided_bytes")
FACT(COUNT, "baseline", "hits", r->baseline.ghost.hits,
     "requests that a cache that admits at first sight would have answered")
FACT(COUNT, "baseline", "misses", r->baseline.ghost.misses, "requests that it would have fetched")
FACT(COUNT, "baseline", "validated", r->baseline.ghost.validated,
     "requests for which its origin would have said 304")
FACT(COUNT, "baseline", "dropped", r->baseline.dropped,
     "requests that it missed because it could not keep up")
FACT(LEVEL, "baseline", "entries", r->baseline.ghost.entries, "objects that it follows")
FACT(SHARE, "baseline", "sample_share", r->baseline.ghost.sample_share,
     "keys that it follows, of all; the rest is scaled")
FACT(LEVEL, "baseline", "memory_bytes", r->baseline.ghost.memory_bytes, "its memory")
FACT(LEVEL, "admission.generation", "number", r->generation.number,
     "of the generation that learns now")
FACT(LEVEL, "admission.generation", "keys", r->generation.keys, "distinct URLs recorded in it")
FACT(LEVEL, "admission.generation", "capacity", r->generation.capacity,
     "URLs at which it is closed")
FACT(SHARE, "admission.generation", "fill_ratio", r->generation.fill_ratio, "ones among its bits")
FACT(SHARE, "admission.generation", "previous_fill_ratio", r->generation.previous_fill_ratio,
     "the same of the previous one")
FACT(SHARE, "admission.generation", "estimated_fpr", r->generation.estimated_fpr,
     "new URLs taken for seen, as filled now")
FACT(SECONDS, "admission.generation", "age_s", generation_age(r), "seconds since it began")
FACT(LEVEL, "admission.generation", "previous_keys", r->generation.previous_keys,
     "distinct URLs recorded in the previous one")
FACT(SHARE, "admission.generation", "distinct_estimate", r->generation.distinct_estimate,
     "distinct URLs in it, from its ones alone")
FACT(SHARE, "admission.generation", "recurring_share", r->generation.recurring_share,
     "of its URLs, how many the previous one knew too")
FACT(SHARE, "admission.generation", "distinct_per_s", distinct_per_s(r),
     "distinct URLs per second, from its ones and its age")
FACT(SECONDS, "admission.generation", "interval_s", r->sightings.interval_s,
     "how long the one before it lasted; 0: not known yet")
FACT(LEVEL, "admission.generation", "turns_fast", turns_fast(r),
     "1 while that is less than setting admission.turn_alarm")
FACT(COUNT, "admission.generation", "rotations", r->generation.rotations,
     "generations closed since start")
FACT(LEVEL, "admission.generation", "memory_bytes", r->generation.memory_bytes,
     "memory of both generations")
FACT(COUNT, "admission", "unlogged", r->sightings.unlogged,
     "sightings that are on disk with the next snapshot of the filter only: they came faster than the disk took them")
FACT(LEVEL, "admission.sightings", "small", r->sightings.asked,
     "requests for a URL before it is written, now, of bodies of 64 KiB at most")
FACT(LEVEL, "admission.sightings", "large", r->sightings.asked_large, "the same of larger bodies")
FACT(COUNT, "admission.sightings", "changes", r->sightings.choice.changes,
     "times that setting sightings: auto chose other ones, over restarts")
FACT(LEVEL, "admission.most_written", "bytes", r->most_written.bytes,
     "most bytes written within an hour of what one address alone asked for")
FACT(LEVEL, "connections", "open", r->open_connections, "client connections open")
FACT(LEVEL, "configuration", "read_timestamp_s", r->configuration.read_s,
     "unix time of the last reload that was applied, or of the start")
FACT(LEVEL, "configuration", "reload_refused", r->configuration.refused,
     "1: the last reload was refused, and what was there before is in use")
FACT(LEVEL, "workers", "stalled", r->health.stalled_workers,
     "workers whose loop has not turned for 3 s: /healthz says 503")
FACT(LEVEL, "origin", "active_fetches", r->active_fetches, "origin fetches under way")
FACT(LEVEL, "flights", "active", r->flights, "origin answers being shared by several requests")
FACT(LEVEL, "flights", "bytes", r->flight_bytes, "bytes held for them")
FACT(COUNT, "access_log", "dropped_lines", r->log_dropped,
     "requests without a line in the access log: it was not written as fast as they came")
