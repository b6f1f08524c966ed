# exact_lru.awk - an LRU by bytes, as a textbook has it: what share of requests hits, and how many bytes does it
# write when it admits everything, or what was asked for before? For comparison with twice simulate --eviction lru.
#
#	awk -v disk=BYTES -v sightings=1 -f bench/exact_lru.awk < lines "time id size"
{
	id = $2; size = $3 + 0; requests++
	if (id in bytes && bytes[id] != size) { # another version
		used -= bytes[id]; take_out(id)
	}
	if (id in bytes) {
		hits++; take_out_of_list(id); put_first(id)
	} else if (++seen[id] >= sightings && size <= disk) {
		while (used + size > disk) { gone = prev[""]; used -= bytes[gone]; take_out(gone) }
		bytes[id] = size; used += size; written += size; put_first(id)
	}
}
function take_out_of_list(i) { next_[prev[i]] = next_[i]; prev[next_[i]] = prev[i] }
function take_out(i) { take_out_of_list(i); delete bytes[i]; delete next_[i]; delete prev[i] }
function put_first(i) { if (!("" in next_)) next_[""] = prev[""] = ""
	next_[i] = next_[""]; prev[i] = ""; prev[next_[i]] = i; next_[""] = i }
END { printf "%.6f %.0f\n", hits / requests, written }
