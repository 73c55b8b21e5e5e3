-- The read model `review`: what is done to the queue inside an `apply` call. Keys are those of review.py.
--
-- review.wait     tenant, memory id, refs, claim, log time, reasons, alike, record   it waits for a person
-- review.again    tenant, memory id, refs, claim, log time, reasons, version, record   it was in use, and waits again
-- review.claimed  tenant, memory id, claim                                    it is active
-- review.born     tenant, memory id, refs, claim, log time, rivals            it is active, and contradicts the rivals
-- review.promote  tenant, memory id, version, log time, rivals                it waits no more, and contradicts the rivals
-- review.version  tenant, memory id, version, confirmed (1 or 0)              something else happened to it
-- review.gone     tenant, memory id                                           it is neither waiting nor active any more
-- review.upheld   tenant, memory id, version                                  its conflict is answered
-- review.close    tenant, subject, generation                                 the subject is forgotten
--
-- refs: `<subject>:<generation>` of everyone it is about, its own subject first; rivals: `<memory id>:<version>`; both
-- separated by spaces, as the reasons are. What a call leaves does not depend on when closed subjects are swept.

-- Everything counts in the digest, but for what is to be removed: when that happens says nothing about the log. Nor
-- does what was met by something that waits: whether a closed subject's still waits depends on when it is swept.
everything()
local all_counts = counted
counted = function(rest)
  return rest ~= 'closing' and not string.find(rest, '^waits:') and not string.find(rest, '^met:') and all_counts(rest)
end

local CONFLICT = 'conflict'

local function named(prefix, kind, tenant, name) return prefix .. kind .. ':' .. tenant .. ':' .. name end

local function is_closed(prefix, tenant, refs)
  for subject, generation in string.gmatch(refs, '(%S+):(%d+)') do
    local closed = redis.call('HGET', prefix .. 'closed:' .. tenant, subject)
    if closed and tonumber(closed) >= tonumber(generation) then return true end
  end
  return false
end

local function each_ref(prefix, tenant, memory, refs, command)
  for ref in string.gmatch(refs, '%S+') do redis.call(command, named(prefix, 'of', tenant, ref), memory) end
end

local function enqueue(prefix, tenant, member, at, reasons)
  redis.call('ZADD', prefix .. 'queue:' .. tenant, at, member)
  redis.call('ZADD', prefix .. 'all', at, tenant .. ' ' .. member)
  for reason in string.gmatch(reasons, '%S+') do
    redis.call('ZADD', prefix .. 'by:' .. reason, at, tenant .. ' ' .. member)
    redis.call('SADD', prefix .. 'reasons', reason)
  end
end

-- A reason that nothing waits for is not named: how long it was depends on nothing but the log.
local function unless_waited(prefix, reason)
  if redis.call('EXISTS', prefix .. 'by:' .. reason) == 0 then redis.call('SREM', prefix .. 'reasons', reason) end
end

operations['review.unless'] = unless_waited

local function dequeue(prefix, tenant, member, reasons)
  redis.call('ZREM', prefix .. 'queue:' .. tenant, member)
  redis.call('ZREM', prefix .. 'all', tenant .. ' ' .. member)
  for reason in string.gmatch(reasons, '%S+') do
    redis.call('ZREM', prefix .. 'by:' .. reason, tenant .. ' ' .. member)
    unless_waited(prefix, reason)
  end
end

-- A conflict stands in the queue by its oldest contradiction that is still open; without one it is over.
local function requeue(prefix, tenant, claim)
  local oldest
  for _, memory in ipairs(redis.call('SMEMBERS', named(prefix, 'claim', tenant, claim))) do
    for _, since in ipairs(redis.call('HVALS', named(prefix, 'rivals', tenant, memory))) do
      if not oldest or tonumber(since) < tonumber(oldest) then oldest = since end
    end
  end
  if oldest then
    enqueue(prefix, tenant, 'c:' .. claim, oldest, CONFLICT)
  else
    dequeue(prefix, tenant, 'c:' .. claim, CONFLICT)
  end
end

-- An active record is kept while it is in conflict, or where a conflict to come would have to know whom it is about.
local function is_kept(refs, claim) return claim ~= '' and string.find(refs, ' ', 1, true) ~= nil end

local function settle(prefix, tenant, memory, claim)
  local record = named(prefix, 'r', tenant, memory)
  local refs = redis.call('HGET', record, 'refs') or ''
  redis.call('SREM', named(prefix, 'claim', tenant, claim), memory)
  if is_kept(refs, claim) then return end
  each_ref(prefix, tenant, memory, refs, 'SREM')
  redis.call('DEL', record)
end

-- Takes a record out of its conflict. Of those it contradicted, some contradict nobody else.
local function part(prefix, tenant, memory)
  local claim = redis.call('HGET', named(prefix, 'r', tenant, memory), 'claim')
  local mine = named(prefix, 'rivals', tenant, memory)
  local rivals = redis.call('HKEYS', mine)
  if not claim or #rivals == 0 then return end
  redis.call('DEL', mine)
  for _, other in ipairs(rivals) do
    local theirs = named(prefix, 'rivals', tenant, other)
    redis.call('HDEL', theirs, memory)
    if redis.call('EXISTS', theirs) == 0 then settle(prefix, tenant, other, claim) end
  end
  settle(prefix, tenant, memory, claim)
  requeue(prefix, tenant, claim)
end

-- How many wait beside the first of their group: the queue has so many members more than items.
local function repeated(prefix, tenant, change)
  local key = prefix .. 'repeats:' .. tenant
  local count = (tonumber(redis.call('GET', key)) or 0) + change
  if count > 0 then redis.call('SET', key, count) else redis.call('DEL', key) end
end

local function join(prefix, tenant, memory, at, alike)
  local group = named(prefix, 'alike', tenant, alike)
  local others = redis.call('EXISTS', group) == 1
  if redis.call('ZADD', group, at, memory) == 1 and others then repeated(prefix, tenant, 1) end
end

local function leave(prefix, tenant, memory, alike)
  local group = named(prefix, 'alike', tenant, alike)
  if redis.call('ZREM', group, memory) == 1 and redis.call('EXISTS', group) == 1 then repeated(prefix, tenant, -1) end
end

-- What comes into use on a claim for which something waits is kept beside it, for whoever decides about what waits.
local function meet(prefix, tenant, claim, memory)
  if claim == '' or redis.call('EXISTS', named(prefix, 'waits', tenant, claim)) == 0 then return end
  redis.call('SADD', named(prefix, 'met', tenant, claim), memory)
end

local function await(prefix, tenant, claim, memory)
  if claim ~= '' then redis.call('SADD', named(prefix, 'waits', tenant, claim), memory) end
end

-- Takes a record out of the queue, and out of those that wait with its words or for its claim.
local function waited(prefix, tenant, memory, reasons, claim, alike)
  dequeue(prefix, tenant, 'w:' .. memory, reasons)
  if alike and alike ~= '' then leave(prefix, tenant, memory, alike) end
  if not claim or claim == '' then return end
  local others = named(prefix, 'waits', tenant, claim)
  redis.call('SREM', others, memory)
  if redis.call('EXISTS', others) == 0 then redis.call('DEL', named(prefix, 'met', tenant, claim)) end
end

local function gone(prefix, tenant, memory)
  local record = named(prefix, 'r', tenant, memory)
  local found = redis.call('HMGET', record, 'state', 'refs', 'reasons', 'claim', 'alike')
  if not found[1] then return end
  if found[1] == 'w' or found[1] == 's' then waited(prefix, tenant, memory, found[3], found[4], found[5]) end
  part(prefix, tenant, memory)
  each_ref(prefix, tenant, memory, found[2], 'SREM')
  redis.call('DEL', record)
end

local function contest(prefix, tenant, memory, refs, claim, at, rivals)
  local own = string.match(refs, '%S+')
  for other, version in string.gmatch(rivals, '(%S+):(%d+)') do
    local record = named(prefix, 'r', tenant, other)
    if redis.call('EXISTS', record) == 0 then
      redis.call('HSET', record, 'state', 'a', 'refs', own, 'claim', claim)
      each_ref(prefix, tenant, other, own, 'SADD')
    end
    redis.call('HSET', record, 'version', version)
    redis.call('HSET', named(prefix, 'rivals', tenant, memory), other, at)
    redis.call('HSET', named(prefix, 'rivals', tenant, other), memory, at)
    redis.call('SADD', named(prefix, 'claim', tenant, claim), memory, other)
  end
  requeue(prefix, tenant, claim)
end

operations['review.wait'] = function(prefix, tenant, memory, refs, claim, at, reasons, alike, record)
  if is_closed(prefix, tenant, refs) then return end
  redis.call('HSET', named(prefix, 'r', tenant, memory), 'state', 'w', 'refs', refs, 'claim', claim, 'version', 1,
    'reasons', reasons, 'alike', alike, 'record', record)
  if alike ~= '' then join(prefix, tenant, memory, at, alike) end
  await(prefix, tenant, claim, memory)
  each_ref(prefix, tenant, memory, refs, 'SADD')
  enqueue(prefix, tenant, 'w:' .. memory, at, reasons)
end

-- It leaves whatever conflict it was part of; what it contradicted stays beside it.
operations['review.again'] = function(prefix, tenant, memory, refs, claim, at, reasons, version, record)
  local rivals = redis.call('HKEYS', named(prefix, 'rivals', tenant, memory))
  gone(prefix, tenant, memory)
  if is_closed(prefix, tenant, refs) then return end
  await(prefix, tenant, claim, memory)
  for _, other in ipairs(rivals) do meet(prefix, tenant, claim, other) end
  redis.call('HSET', named(prefix, 'r', tenant, memory), 'state', 's', 'refs', refs, 'claim', claim, 'version', version,
    'reasons', reasons, 'record', record)
  each_ref(prefix, tenant, memory, refs, 'SADD')
  enqueue(prefix, tenant, 'w:' .. memory, at, reasons)
end

operations['review.claimed'] = function(prefix, tenant, memory, claim) meet(prefix, tenant, claim, memory) end

operations['review.born'] = function(prefix, tenant, memory, refs, claim, at, rivals)
  if is_closed(prefix, tenant, refs) then return end
  redis.call('HSET', named(prefix, 'r', tenant, memory), 'state', 'a', 'refs', refs, 'claim', claim, 'version', 1)
  each_ref(prefix, tenant, memory, refs, 'SADD')
  if rivals ~= '' then contest(prefix, tenant, memory, refs, claim, at, rivals) end
end

operations['review.promote'] = function(prefix, tenant, memory, version, at, rivals)
  local record = named(prefix, 'r', tenant, memory)
  local found = redis.call('HMGET', record, 'state', 'refs', 'reasons', 'claim', 'alike')
  if found[1] ~= 'w' and found[1] ~= 's' then return end
  local refs, claim = found[2], found[4]
  waited(prefix, tenant, memory, found[3], claim, found[5])
  meet(prefix, tenant, claim, memory)
  redis.call('HDEL', record, 'reasons', 'record', 'confirmed', 'alike')
  redis.call('HSET', record, 'state', 'a', 'version', version)
  if rivals ~= '' then
    contest(prefix, tenant, memory, refs, claim, at, rivals)
  elseif not is_kept(refs, claim) then
    gone(prefix, tenant, memory)
  end
end

operations['review.version'] = function(prefix, tenant, memory, version, confirmed)
  local record = named(prefix, 'r', tenant, memory)
  local state = redis.call('HGET', record, 'state')
  if not state then return end
  redis.call('HSET', record, 'version', version)
  if state == 'w' and confirmed == 1 then redis.call('HSET', record, 'confirmed', 1) end
end

operations['review.gone'] = gone

operations['review.upheld'] = function(prefix, tenant, memory, version)
  operations['review.version'](prefix, tenant, memory, version, 0)
  part(prefix, tenant, memory)
end

operations['review.close'] = function(prefix, tenant, subject, generation)
  local closed = redis.call('HGET', prefix .. 'closed:' .. tenant, subject)
  if not closed or tonumber(closed) < tonumber(generation) then
    redis.call('HSET', prefix .. 'closed:' .. tenant, subject, generation)
  end
  if redis.call('EXISTS', named(prefix, 'of', tenant, subject .. ':' .. generation)) > 0 then
    redis.call('SADD', prefix .. 'closing', tenant .. ' ' .. subject .. ':' .. generation)
  end
end

local function remove_closed(prefix, most)
  local entry = redis.call('SRANDMEMBER', prefix .. 'closing')
  if not entry then return 0 end
  local tenant, ref = string.match(entry, '^(%S+) (%S+)$')
  local of = named(prefix, 'of', tenant, ref)
  for _, memory in ipairs(redis.call('SRANDMEMBER', of, most)) do
    gone(prefix, tenant, memory)
    redis.call('SREM', of, memory)
  end
  if redis.call('EXISTS', of) == 0 then redis.call('SREM', prefix .. 'closing', entry) end
  return redis.call('EXISTS', prefix .. 'closing')
end

-- sweep   KEYS[1] = the watermark hash; ARGV[1] = how many records at most. Returns whether there are more. Not bound to
--         a position: what it removes is hidden already, and a second sweeper finds less to do.
local function sweep(keys, args)
  return removing(keys, function() return remove_closed(string.sub(keys[1], 1, -10), args[1]) end)
end
