-- What a generation holds, as one number that does not depend on the order of writing: the digest.
--
-- An owner says what of its content is logical by giving its Lua two functions before the first call:
--   counted(rest)                 whether the key counts; `rest` is what follows the generation's prefix
--   logical(rest, field, value)   the text that stands for the value, or nil where this value does not count. Nothing in
--                                 it may depend on the generation: no blinded token, no number given here.
-- Without `counted` nothing is counted, and a call costs what it did.
--
-- Content is a set of items (key, field or member, value). Each one weighs three numbers of 48 bits, from the SHA-1 of
-- its text, and the digest is their sums modulo 2^48: writing an item adds its weight, and what it replaces takes its
-- own away. So every write goes through `redis.call` below, which knows the few commands that projections use, in the
-- forms in which they use them, and refuses any other on a key that counts.
--
-- The mark says by which rules its digest was counted. Whoever changes what counts, or its text, gives `rules` another
-- name. While workers of two versions write one generation, its mark says `mixed` and has no digest: sums by two rules
-- would be right by neither. It is compared item by item then, until a generation is filled by one version alone.

-- Asked for by name at each call: what `redis` is while a library is loaded has none of it.
local server = {
  call = function(...) return redis.call(...) end,
  pcall = function(...) return redis.pcall(...) end,
  sha1hex = function(text) return redis.sha1hex(text) end,
  register_function = redis.register_function,
}
local counted, logical
local rules, MIXED = '1', 'mixed'
local tally

local WIDE = 281474976710656

local function weigh(sign, key, field, value)
  local rest = string.sub(key, tally.from)
  local text = logical(rest, field, value)
  if not text then return end
  local hash = server.sha1hex(rest .. '\0' .. field .. '\0' .. text)
  for i = 1, 3 do
    tally[i] = (tally[i] + sign * tonumber(string.sub(hash, 12 * i - 11, 12 * i), 16)) % WIDE
  end
  tally.items = tally.items + sign
end

local function refuse(what) error('the digest does not know ' .. what .. '; see digest.lua') end

-- As Redis writes a number that Lua gives it: whole ones alone, for of others there is more than one way.
local function text_of(value)
  if type(value) ~= 'number' then return value end
  if value % 1 ~= 0 or value >= 2 ^ 53 or value <= -2 ^ 53 then refuse('numbers that are not whole') end
  return string.format('%.0f', value)
end

-- `items` without repetitions, in their order: what is named twice is written once.
local function once(items)
  local kept, seen = {}, {}
  for _, item in ipairs(items) do
    if not seen[item] then kept[#kept + 1], seen[item] = item, true end
  end
  return kept
end

local function replaced(key, field, old, new)
  if old == new then return end
  if old then weigh(-1, key, field, old) end
  if new then weigh(1, key, field, new) end
end

local function uncount(key)
  local kind = server.call('TYPE', key).ok
  if kind == 'string' then
    weigh(-1, key, '', server.call('GET', key))
  elseif kind == 'hash' then
    local flat = server.call('HGETALL', key)
    for i = 1, #flat, 2 do weigh(-1, key, flat[i], flat[i + 1]) end
  elseif kind == 'set' then
    for _, member in ipairs(server.call('SMEMBERS', key)) do weigh(-1, key, member, '') end
  elseif kind == 'zset' then
    local flat = server.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    for i = 1, #flat, 2 do weigh(-1, key, flat[i], flat[i + 1]) end
  end
end

-- What each command does to the items of its key, looked at before it is carried out.
local watched = {}

function watched.SET(key, value, option, more)
  if more or (option and option ~= 'NX') then refuse('SET with ' .. option) end
  local old = server.call('GET', key)
  if option ~= 'NX' or not old then replaced(key, '', old, text_of(value)) end
end

function watched.HSET(key, ...)
  local given, written = {...}, {}
  for i = 1, #given, 2 do
    local field, value = text_of(given[i]), text_of(given[i + 1])
    replaced(key, field, written[field] or server.call('HGET', key, field), value)
    written[field] = value
  end
end

function watched.HSETNX(key, field, value)
  if server.call('HEXISTS', key, field) == 0 then weigh(1, key, text_of(field), text_of(value)) end
end

function watched.HDEL(key, ...)
  for _, field in ipairs(once({...})) do replaced(key, text_of(field), server.call('HGET', key, field), nil) end
end

local function member_wise(sign)
  return function(key, ...)
    local members = once({...})
    local there = server.call('SMISMEMBER', key, unpack(members))
    for i, member in ipairs(members) do
      if (there[i] == 1) == (sign < 0) then weigh(sign, key, text_of(member), '') end
    end
  end
end

watched.SADD, watched.SREM = member_wise(1), member_wise(-1)

function watched.ZADD(key, first, second, third, more)
  local only_new = first == 'NX'
  if more or (third and not only_new) or not (only_new or tonumber(first)) then refuse('ZADD of this form') end
  local score, member = first, second
  if only_new then score, member = second, third end
  local old = server.call('ZSCORE', key, member)
  if not only_new or not old then replaced(key, text_of(member), old, text_of(score)) end
end

function watched.ZREM(key, ...)
  for _, member in ipairs(once({...})) do
    replaced(key, text_of(member), server.call('ZSCORE', key, member), nil)
  end
end

function watched.DEL(...)
  for _, key in ipairs(once({...})) do
    if counted(string.sub(key, tally.from)) then uncount(key) end
  end
end

watched.UNLINK = watched.DEL

local SEVERAL = {DEL = true, UNLINK = true}
local READS = {
  EXISTS = true, GET = true, GETRANGE = true, HEXISTS = true, HGET = true, HGETALL = true, HKEYS = true, HLEN = true,
  HMGET = true, HVALS = true, SCARD = true, SISMEMBER = true, SMEMBERS = true, SMISMEMBER = true, SRANDMEMBER = true,
  TYPE = true, ZCARD = true, ZRANGE = true, ZSCORE = true,
}

local redis = {register_function = server.register_function}

function redis.call(command, key, ...)
  if tally then
    local watch = watched[command]
    if watch then
      if SEVERAL[command] or counted(string.sub(key, tally.from)) then watch(key, ...) end
    elseif not READS[command] and counted(string.sub(key, tally.from)) then
      refuse(command)
    end
  end
  return server.call(command, key, ...)
end

local function mark_of()
  local digest = string.format('%012x%012x%012x', tally[1], tally[2], tally[3])
  return {'digest', digest, 'items', tally.items, 'rules', rules}
end

-- Runs `work`, which writes under `prefix`, and returns the mark's fields {'digest', …, 'items', …, 'rules', …} after
-- it, or nil where nothing is counted. `by`: whose rules `digest` and `items` follow.
-- Redis does not undo what a failing call has written, so the digest is kept then too.
local function tallied(prefix, digest, items, by, work, mark)
  if counted and by ~= rules and (by or digest) then
    if by ~= MIXED then server.call('HSET', mark, 'rules', MIXED) end
    server.call('HDEL', mark, 'digest', 'items')
    by = MIXED
  end
  if not counted or by == MIXED then
    work()
    return nil
  end
  digest = digest or string.rep('0', 36)
  tally = {from = #prefix + 1, items = tonumber(items or '0')}
  for i = 1, 3 do tally[i] = tonumber(string.sub(digest, 12 * i - 11, 12 * i), 16) end
  local done, problem = pcall(work)
  local fields = mark_of()
  tally = nil
  if not done then
    server.call('HSET', mark, unpack(fields))
    error(problem)
  end
  return fields
end

-- What is removed beside the log, in small steps, changes the digest too.
local function removing(keys, work)
  local mark, answer = server.call('HMGET', keys[1], 'digest', 'items', 'rules'), nil
  local prefix = string.sub(keys[1], 1, -10)
  local digest = tallied(prefix, mark[1], mark[2], mark[3], function() answer = work() end, keys[1])
  if digest and mark[1] then server.call('HSET', keys[1], unpack(digest)) end
  return answer
end

-- items  KEYS[1] = the watermark hash; ARGV = keys, each after the prefix
--        Returns {{rest, field, SHA-1 of its text}, …} of what counts in them.
local function items(keys, args)
  local prefix, found = string.sub(keys[1], 1, -10), {}
  local function add(rest, field, value)
    local text = logical(rest, field, value)
    if text then found[#found + 1] = {rest, field, server.sha1hex(rest .. '\0' .. field .. '\0' .. text)} end
  end
  for _, rest in ipairs(args) do
    if counted and counted(rest) then
      local key = prefix .. rest
      local kind = server.call('TYPE', key).ok
      if kind == 'string' then
        add(rest, '', server.call('GET', key))
      elseif kind == 'hash' then
        local flat = server.call('HGETALL', key)
        for i = 1, #flat, 2 do add(rest, flat[i], flat[i + 1]) end
      elseif kind == 'set' then
        for _, member in ipairs(server.call('SMEMBERS', key)) do add(rest, member, '') end
      elseif kind == 'zset' then
        local flat = server.call('ZRANGE', key, 0, -1, 'WITHSCORES')
        for i = 1, #flat, 2 do add(rest, flat[i], flat[i + 1]) end
      end
    end
  end
  return found
end

-- counting  KEYS[1] = any key of the partition. Returns the name of the rules by which this library counts.
local function counting() return rules end

-- The whole content counts, as it stands.
local function everything()
  counted = function(rest) return rest ~= 'watermark' end
  logical = function(_, _, value) return value end
end
