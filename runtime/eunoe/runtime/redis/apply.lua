-- The one way a projection writes: data and watermark in one call, or neither.
--
-- apply  KEYS[1] = the watermark hash
--        ARGV    = from, to, and in msgpack the mark's fields {field, value, …} and the operations {{command, argument, …}, …}:
--        one binary argument instead of thousands, for a client spends longer on arguments than Redis on the writes
--        Applies only if `from` is the hash's position (absent counts as 0), so a call that comes twice, late or out of
--        turn changes nothing. Writes are absolute values. Returns {1, to} or {0, position found}.
--        A command that an owner's Lua has put into `operations` is called with the prefix of the keys and its arguments.
-- read   KEYS[1] = the watermark hash; ARGV = the position expected, and in msgpack the names of string keys
--        Returns {1, {mark field, value, …}, {value or false, …}} or {0, position found}: what is read is never judged
--        on a projection that lost its data or that somebody else moved.

local operations = {}

-- A command on its key where that is there already; else nothing.
operations.known = function(_, command, key, ...)
  if redis.call('EXISTS', key) == 1 then redis.call(command, key, ...) end
end

-- Every function is registered as whole(function). While a slot leaves a node of a cluster, a key that is not there may
-- be absent or gone ahead; Redis refuses to look at one, so looking for a key that nobody writes tells. Before anything
-- is written: a call that fails half way is not undone. (The node it goes to is never asked: see cluster.py.)
local function whole(answer)
  return function(keys, args)
    local looked = server.pcall('EXISTS', keys[1] .. ':whole')
    if type(looked) == 'table' and looked.err then return {err = 'SLOTMOVING ' .. looked.err} end
    return answer(keys, args)
  end
end

local function position(key)
  return tonumber(redis.call('HGET', key, 'position') or '0')
end

-- Whether the generation under `prefix` (…:g3:) is the one that readers are answered from.
local function is_serving(generations, prefix)
  return (redis.call('HGET', generations, 'serving') or '1') == string.match(prefix, ':g(%d+):$')
end

local function apply(keys, args)
  local prefix = string.sub(keys[1], 1, -10)
  local mark = redis.call('HMGET', keys[1], 'position', 'digest', 'items', 'rules')
  local found = tonumber(mark[1] or '0')
  if found ~= tonumber(args[1]) then return {0, found} end
  local digest = tallied(prefix, mark[2], mark[3], mark[4], function()
    for _, operation in ipairs(cmsgpack.unpack(args[4])) do
      local own = operations[operation[1]]
      if own then own(prefix, unpack(operation, 2)) else redis.call(unpack(operation)) end
    end
  end, keys[1])
  redis.call('HSET', keys[1], 'position', args[2], unpack(cmsgpack.unpack(args[3])))
  if digest then redis.call('HSET', keys[1], unpack(digest)) end
  return {1, tonumber(args[2])}
end

local function read(keys, args)
  local found = position(keys[1])
  if found ~= tonumber(args[1]) then return {0, found} end
  local names, values = cmsgpack.unpack(args[2]), {}
  -- unpack is limited by Lua's stack, so keys are read in runs.
  for first = 1, #names, 1000 do
    local run = redis.call('MGET', unpack(names, first, math.min(first + 999, #names)))
    for i = 1, #run do values[#values + 1] = run[i] end
  end
  return {1, redis.call('HGETALL', keys[1]), values}
end
