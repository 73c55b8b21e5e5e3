-- The read model `keys`: what of it counts in the digest. Only wrapped keys that are there: a log that was compacted
-- knows neither the tombstones nor the keys they destroyed, and a model filled from it has no pointers to those.
counted = function(rest) return string.sub(rest, 1, 4) == 'key:' end
logical = function(_, _, value) return string.sub(value, 1, 5) ~= 'gone:' and value or nil end
