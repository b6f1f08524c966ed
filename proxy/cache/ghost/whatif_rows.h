/* whatif_rows.h - rows: the settings that are simulated beside the proxy's own. id; name in /stats;
 * sightings (0: as they are); disk and memory, in halves of what they are. NOW is first, and a new one is
 * the last, for snapshots know them by their numbers. LARGE_3 asks for three of large bodies alone. */
WHATIF(NOW, "now", 0, 2, 2)
WHATIF(SIGHTINGS_1, "sightings: 1", 1, 2, 2)
WHATIF(SIGHTINGS_2, "sightings: 2", 2, 2, 2)
WHATIF(SIGHTINGS_3, "sightings: 3", 3, 2, 2)
WHATIF(HALF_DISK, "half the disk", 0, 1, 2)
WHATIF(DOUBLE_DISK, "twice the disk", 0, 4, 2)
WHATIF(HALF_RAM, "half the RAM", 0, 2, 1)
WHATIF(DOUBLE_RAM, "twice the RAM", 0, 2, 4)
WHATIF(LARGE_3, "sightings: 3 over 64 KiB", 2, 2, 2)
