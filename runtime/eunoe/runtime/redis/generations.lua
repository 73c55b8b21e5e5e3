-- Which generations of a model there are in a partition, and which one answers. KEYS[1] is the hash
-- …:<model>:generations: `serving` (absent: 1), `kept` (the one before, still projected), `building`, `joined` (1 once
-- workers project the one that is built), `purpose` (what it is built for), `last` (the highest number given; absent: 1),
-- `frozen:<n>` (a generation as of then) -> the offset before which it was built, and `retiring:<n>` (one whose keys may
-- not all be removed yet).
--
-- Each function returns {1, …} when done, or {0, why, …} and has changed nothing.

local function stem(generations) return string.sub(generations, 1, -12) end

local function mark_of(generations, generation) return stem(generations) .. 'g' .. generation .. ':watermark' end

local function serving_of(generations) return redis.call('HGET', generations, 'serving') or '1' end

-- begin   ARGV = what it is for, and the least number to give. Returns the number of the generation to build, a new one
--         or the one begun before for the same. Workers do not project it, or no more.
local function begin(keys, args)
  local building = redis.call('HGET', keys[1], 'building')
  if building then
    if redis.call('HGET', keys[1], 'purpose') ~= args[1] then return {0, 'purpose', tonumber(building)} end
    redis.call('HDEL', keys[1], 'joined')
    return {1, tonumber(building), 0}
  end
  local last = tonumber(redis.call('HGET', keys[1], 'last') or '1')
  local number = string.format('%.0f', math.max(last + 1, tonumber(args[2])))
  redis.call('HSET', keys[1], 'building', number, 'last', number, 'purpose', args[1])
  return {1, tonumber(number), 1}
end

-- join    ARGV = the generation being built: workers project it from now on.
local function join(keys, args)
  if redis.call('HGET', keys[1], 'building') ~= args[1] then return {0, 'not building'} end
  redis.call('HSET', keys[1], 'joined', 1)
  return {1}
end

-- switch  ARGV = the generation that serves, the one that shall, and 1 if it may be behind.
--         The other one is kept. It must have come as far, so that nobody's next answer is older than the last.
local function switch(keys, args)
  local from, to = args[1], args[2]
  if serving_of(keys[1]) ~= from then return {0, 'serving', tonumber(serving_of(keys[1]))} end
  local building, kept = redis.call('HGET', keys[1], 'building'), redis.call('HGET', keys[1], 'kept')
  if to ~= building and to ~= kept then return {0, 'unknown'} end
  if to == building and kept then return {0, 'kept', tonumber(kept)} end
  local there, here = position(mark_of(keys[1], to)), position(mark_of(keys[1], from))
  if there < here and args[3] ~= '1' then return {0, 'behind', there, here} end
  redis.call('HSET', keys[1], 'serving', to, 'kept', from)
  if to == building then redis.call('HDEL', keys[1], 'building', 'joined', 'purpose') end
  return {1, there, here}
end

-- freeze  ARGV = the generation being built, the offset before which it was built: it is one as of then from now on.
local function freeze(keys, args)
  if redis.call('HGET', keys[1], 'building') ~= args[1] then return {0, 'not building'} end
  if redis.call('HEXISTS', keys[1], 'joined') == 1 then return {0, 'joined'} end
  redis.call('HDEL', keys[1], 'building', 'purpose')
  redis.call('HSET', keys[1], 'frozen:' .. args[1], args[2])
  return {1}
end

-- retire  ARGV = a generation that does not serve. It is projected and read no more; its keys are for the caller to
--         remove, who then says `cleared`: until that it is named, for what is left of it may be somebody's. Its watermark
--         stays behind at -1, so that nobody who still projects it can begin it anew.
local function retire(keys, args)
  if serving_of(keys[1]) == args[1] then return {0, 'serving', tonumber(args[1])} end
  for _, role in ipairs({'kept', 'building'}) do
    if redis.call('HGET', keys[1], role) == args[1] then
      redis.call('HDEL', keys[1], role)
      if role == 'building' then redis.call('HDEL', keys[1], 'joined', 'purpose') end
    end
  end
  redis.call('HDEL', keys[1], 'frozen:' .. args[1])
  redis.call('HSET', keys[1], 'retiring:' .. args[1], 1)
  redis.call('DEL', mark_of(keys[1], args[1]))
  redis.call('HSET', mark_of(keys[1], args[1]), 'position', -1)
  return {1}
end

-- cleared ARGV = a retired generation of which no key is left but its watermark.
local function cleared(keys, args)
  redis.call('HDEL', keys[1], 'retiring:' .. args[1])
  return {1}
end
