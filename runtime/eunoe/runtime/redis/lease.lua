-- A lease: a key that holds its holder's token and ends by itself. KEYS[1] is that key, ARGV[1] the token. Asked and done
-- at one moment, for a lease that has run out meanwhile may be somebody else's. Each returns 1, or 0 where it is not held.

local function held(keys, args) return redis.call('GET', keys[1]) == args[1] end

-- renew   ARGV[2] = milliseconds from now on.
local function renew(keys, args)
  if not held(keys, args) then return 0 end
  return redis.call('PEXPIRE', keys[1], args[2])
end

local function release(keys, args)
  if not held(keys, args) then return 0 end
  return redis.call('DEL', keys[1])
end
