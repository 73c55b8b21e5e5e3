-- The one way a projection writes: data and watermark in one call, or neither.
--
-- apply  KEYS[1] = the watermark hash
--        ARGV    = from, to, number of mark fields, field, value, …, then operations: argument count, command, arguments…
--        Applies only if `from` is the hash's position (absent counts as 0), so a call that comes twice, late or out of
--        turn changes nothing. Writes are absolute values. Returns {1, to} or {0, position found}.
--        A command that an owner's Lua has put into `operations` is called with the prefix of the keys and its arguments.
-- read   KEYS[1] = the watermark hash, KEYS[2…] = string keys; ARGV[1] = the position expected
--        Returns {1, {mark field, value, …}, {value or false, …}} or {0, position found}: what is read is never judged
--        on a projection that lost its data or that somebody else moved.

local operations = {}

local function position(key)
  return tonumber(redis.call('HGET', key, 'position') or '0')
end

local function apply(keys, args)
  local found = position(keys[1])
  if found ~= tonumber(args[1]) then return {0, found} end
  local prefix = string.sub(keys[1], 1, -10)
  local at = 4 + 2 * tonumber(args[3])
  while at <= #args do
    local last = at + tonumber(args[at])
    local own = operations[args[at + 1]]
    if own then own(prefix, unpack(args, at + 2, last)) else redis.call(unpack(args, at + 1, last)) end
    at = last + 1
  end
  redis.call('HSET', keys[1], 'position', args[2], unpack(args, 4, 3 + 2 * tonumber(args[3])))
  return {1, tonumber(args[2])}
end

local function read(keys, args)
  local found = position(keys[1])
  if found ~= tonumber(args[1]) then return {0, found} end
  local values = {}
  -- unpack is limited by Lua's stack, so keys are read in runs.
  for first = 2, #keys, 1000 do
    local run = redis.call('MGET', unpack(keys, first, math.min(first + 999, #keys)))
    for i = 1, #run do values[#values + 1] = run[i] end
  end
  return {1, redis.call('HGETALL', keys[1]), values}
end
