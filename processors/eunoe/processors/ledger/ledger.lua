-- drop_lapsed  KEYS[1] = the watermark hash, KEYS[2] = the index of entries that lapse: name -> when it was decided
--              ARGV    = for how long such an entry means something (ms), how many to delete at most
--              Measured by the time of the last decision that the ledger holds, in the call that deletes: an entry that a
--              decision has refreshed meanwhile is not among those found. Returns how many were deleted.
local function drop_lapsed(keys, args)
  local decided_at = tonumber(redis.call('HGET', keys[1], 'decided_at') or '0')
  local oldest = string.format('(%.0f', decided_at - tonumber(args[1]))
  local found = redis.call('ZRANGE', keys[2], '-inf', oldest, 'BYSCORE', 'LIMIT', 0, args[2])
  if #found == 0 then return 0 end
  local prefix = string.sub(keys[1], 1, -10)
  local names = {}
  for i = 1, #found do names[i] = prefix .. found[i] end
  redis.call('UNLINK', unpack(names))
  redis.call('ZREM', keys[2], unpack(found))
  return #found
end
