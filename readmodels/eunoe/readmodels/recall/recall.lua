-- The read model `recall`: what is done to a record inside an `apply` call, and the reads.
-- Keys and layouts are those of keys.py. A member is >I5I6I6BHBBH, a head >c24c8BI4I2I4.
--
-- recall.put      record number, document     recall.drop      tenant, memory id (16 bytes)
-- recall.promote  tenant, memory id, trust grade, version      recall.confirm  tenant, memory id, grade, version
-- recall.suspend  tenant, memory id, version    it waits again: in no index, in no conflict
-- recall.close    tenant, subject, generation  recall.readmit  tenant, subject, generation
-- recall.restrict, recall.allow   tenant, subject, generation: nobody reads them for now, or again
-- recall.version  tenant, memory id, version    recall.contest  tenant, memory id, other memory id, its version
-- Each leaves the same state when it is applied again.

local MEMBER, HEAD, HEAD_BYTES = '>I5I6I6BHBBH', '>c24c8BI4I2I4', 43
local ACTIVE, WAITING = 1, 2
-- A posting's score is its impact in so many steps, times 256, plus its count: impact = score / STEPS, nearly.
local STEPS = 2000000 * 256
local SHORT, FEW = 48, 32
local NO_OCCASION = '\0\0\0\0\0\0\0\0'

-- What counts in the digest: records, links between them, closed, restricted and readmitted subjects. Of a record all but
-- what is blinded under the generation's key or made by its text rules (postings, length, occasion).
counted = function(rest)
  local kind = string.byte(rest, 1)
  return string.byte(rest, 2) == 58 and (kind == 100 or kind == 114 or kind == 99 or kind == 111 or kind == 120)
end

local function head_of(document)
  local member, occasion, state, version, guards, postings = struct.unpack(HEAD, document)
  return {member = member, occasion = occasion, state = state, version = version, guards = guards, postings = postings}
end

local function packed(head, document)
  return struct.pack(HEAD, head.member, head.occasion, head.state, head.version, head.guards, head.postings)
    .. string.sub(document, HEAD_BYTES + 1)
end

local function postings_of(head, document)
  local from = HEAD_BYTES + head.guards
  return cmsgpack.unpack(string.sub(document, from + 1, from + head.postings))
end

local function guards_of(head, document)
  return cmsgpack.unpack(string.sub(document, HEAD_BYTES + 1, HEAD_BYTES + head.guards))
end

local function with_grade(member, factor, grade)
  local number, expires, created, confidence, length, grades, flags, tag = struct.unpack(MEMBER, member)
  local old = math.floor(grades / factor) % 4
  return struct.pack(MEMBER, number, expires, created, confidence, length, grades + (grade - old) * factor, flags, tag)
end

local function scope_number(prefix, tenant, name, make)
  local number = redis.call('HGET', prefix .. 'scopes:' .. tenant, name)
  if number or not make then return number end
  number = string.format('%.0f', redis.call('INCR', prefix .. 'scopes'))
  redis.call('HSET', prefix .. 'scopes:' .. tenant, name, number)
  return number
end

-- How protected a record is, from public (0) up.
local function level_of(member) return string.byte(member, 21) % 4 end

-- Postings do not count in the digest, and are most of what is written: they go past it.
local function post(prefix, member, postings)
  local scores, scopes = postings[4], postings[5]
  for i = 1, #scopes do
    local scope, tokens = scope_number(prefix, postings[1], scopes[i][1], true), scopes[i][2]
    local stem = prefix .. 't:' .. scope .. ':'
    server.call('INCR', prefix .. 'n:' .. scope)
    server.call('HINCRBY', prefix .. 'h:' .. scope, level_of(member), 1)
    for term = 0, #tokens / 8 - 1 do
      server.call('ZADD', stem .. string.sub(tokens, 8 * term + 1, 8 * term + 8),
        struct.unpack('>I4', scores, 4 * term + 1), member)
    end
  end
end

local function unpost(prefix, member, postings)
  local scopes = postings[5]
  for i = 1, #scopes do
    local scope, tokens = scope_number(prefix, postings[1], scopes[i][1], false), scopes[i][2]
    local stem = prefix .. 't:' .. scope .. ':'
    server.call('DECR', prefix .. 'n:' .. scope)
    server.call('HINCRBY', prefix .. 'h:' .. scope, level_of(member), -1)
    for term = 0, #tokens / 8 - 1 do
      server.call('ZREM', stem .. string.sub(tokens, 8 * term + 1, 8 * term + 8), member)
    end
  end
end

-- A conflict is a link that both records hold; one that leaves takes its links along.
local function unlink(prefix, tenant, number)
  local contested = prefix .. 'w:' .. tenant
  if redis.call('SREM', contested, number) == 0 then return end
  for _, other in ipairs(redis.call('SMEMBERS', prefix .. 'r:' .. number)) do
    redis.call('SREM', prefix .. 'r:' .. other, number)
    if redis.call('EXISTS', prefix .. 'r:' .. other) == 0 then redis.call('SREM', contested, other) end
  end
  redis.call('DEL', prefix .. 'r:' .. number)
end

local function remove(prefix, number)
  local key = prefix .. 'd:' .. number
  local document = redis.call('GET', key)
  if not document then return end
  local head = head_of(document)
  local postings = postings_of(head, document)
  if head.state == ACTIVE then unpost(prefix, head.member, postings) end
  for _, set in ipairs(postings[3]) do redis.call('SREM', prefix .. set, number) end
  unlink(prefix, postings[1], number)
  redis.call('DEL', key)
  redis.call('HDEL', prefix .. 'i:' .. postings[1], postings[2])
end

local function find(prefix, tenant, memory)
  local number = redis.call('HGET', prefix .. 'i:' .. tenant, memory)
  if not number then return end
  local document = redis.call('GET', prefix .. 'd:' .. number)
  if not document then return end
  return number, document, head_of(document)
end

local function is_closed(prefix, tenant, refs)
  for _, ref in ipairs(refs) do
    local subject, generation = string.match(ref, '^(.*):(%d+)$')
    local closed = redis.call('HGET', prefix .. 'c:' .. tenant, subject)
    if closed and tonumber(closed) >= tonumber(generation) then return true end
  end
  return false
end

-- Not readable: closed, or restricted for now. What is restricted stays as it is.
local function is_blocked(prefix, tenant, refs)
  if is_closed(prefix, tenant, refs) then return true end
  for _, ref in ipairs(refs) do
    if redis.call('SISMEMBER', prefix .. 'x:' .. tenant, ref) == 1 then return true end
  end
  return false
end

logical = function(rest, _, value)
  if string.byte(rest, 1) ~= 100 then return value end
  local head = head_of(value)
  local number, expires, created, confidence, _, grades, flags, tag = struct.unpack(MEMBER, head.member)
  local numbers = table.concat({number, expires, created, confidence, grades, flags, tag, head.state, head.version}, ' ')
  return numbers .. string.sub(value, HEAD_BYTES + 1, HEAD_BYTES + head.guards)
    .. string.sub(value, HEAD_BYTES + head.guards + head.postings + 1)
end

operations['recall.put'] = function(prefix, number, document)
  remove(prefix, number)
  local head = head_of(document)
  local postings = postings_of(head, document)
  if is_closed(prefix, postings[1], guards_of(head, document)[4]) then return end
  redis.call('SET', prefix .. 'd:' .. number, document)
  redis.call('HSET', prefix .. 'i:' .. postings[1], postings[2], number)
  for _, set in ipairs(postings[3]) do redis.call('SADD', prefix .. set, number) end
  if head.state == ACTIVE then post(prefix, head.member, postings) end
end

operations['recall.drop'] = function(prefix, tenant, memory)
  local number = redis.call('HGET', prefix .. 'i:' .. tenant, memory)
  if number then remove(prefix, number) end
end

local function regrade(prefix, tenant, memory, factor, grade, version, activate)
  local number, document, head = find(prefix, tenant, memory)
  if not number then return end
  local postings = postings_of(head, document)
  if head.state == ACTIVE then unpost(prefix, head.member, postings) end
  head.member = with_grade(head.member, factor, tonumber(grade))
  head.version = tonumber(version)
  if activate then head.state = ACTIVE end
  redis.call('SET', prefix .. 'd:' .. number, packed(head, document))
  if head.state == ACTIVE then post(prefix, head.member, postings) end
end

operations['recall.promote'] = function(prefix, tenant, memory, grade, version)
  regrade(prefix, tenant, memory, 4, grade, version, true)
end

operations['recall.confirm'] = function(prefix, tenant, memory, grade, version)
  regrade(prefix, tenant, memory, 64, grade, version, false)
end

local function reversion(prefix, tenant, memory, version)
  local number, document, head = find(prefix, tenant, memory)
  if not number then return end
  head.version = tonumber(version)
  redis.call('SET', prefix .. 'd:' .. number, packed(head, document))
  return number
end

operations['recall.version'] = reversion

operations['recall.suspend'] = function(prefix, tenant, memory, version)
  local number, document, head = find(prefix, tenant, memory)
  if not number then return end
  if head.state == ACTIVE then unpost(prefix, head.member, postings_of(head, document)) end
  unlink(prefix, tenant, number)
  head.state, head.version = WAITING, tonumber(version)
  redis.call('SET', prefix .. 'd:' .. number, packed(head, document))
end

operations['recall.contest'] = function(prefix, tenant, memory, other, version)
  local theirs = reversion(prefix, tenant, other, version)
  local number = redis.call('HGET', prefix .. 'i:' .. tenant, memory)
  if not number or not theirs then return end
  redis.call('SADD', prefix .. 'r:' .. number, theirs)
  redis.call('SADD', prefix .. 'r:' .. theirs, number)
  redis.call('SADD', prefix .. 'w:' .. tenant, number, theirs)
end

operations['recall.close'] = function(prefix, tenant, subject, generation)
  local closed = redis.call('HGET', prefix .. 'c:' .. tenant, subject)
  if not closed or tonumber(closed) < tonumber(generation) then
    redis.call('HSET', prefix .. 'c:' .. tenant, subject, generation)
  end
  local rest = tenant .. ':' .. subject .. ':' .. generation
  if redis.call('EXISTS', prefix .. 's:' .. rest, prefix .. 'a:' .. rest) > 0 then
    redis.call('SADD', prefix .. 'x:' .. tenant, subject .. ':' .. generation)
    redis.call('SADD', prefix .. 'x', tenant .. ' ' .. subject .. ' ' .. generation)
  else
    redis.call('SREM', prefix .. 'x:' .. tenant, subject .. ':' .. generation)
  end
end

operations['recall.restrict'] = function(prefix, tenant, subject, generation)
  redis.call('SADD', prefix .. 'x:' .. tenant, subject .. ':' .. generation)
end

operations['recall.allow'] = function(prefix, tenant, subject, generation)
  redis.call('SREM', prefix .. 'x:' .. tenant, subject .. ':' .. generation)
end

-- Removes at most `most` records of closed subjects. Says whether there are more.
local function remove_closed(prefix, most)
  local entry = redis.call('SRANDMEMBER', prefix .. 'x')
  if not entry then return 0 end
  local tenant, subject, generation = string.match(entry, '^(%S+) (%S+) (%S+)$')
  local rest = tenant .. ':' .. subject .. ':' .. generation
  for _, kind in ipairs({'s:', 'a:'}) do
    local numbers = redis.call('SRANDMEMBER', prefix .. kind .. rest, most)
    for _, number in ipairs(numbers) do
      remove(prefix, number)
      redis.call('SREM', prefix .. kind .. rest, number)
    end
    most = most - #numbers
    if most <= 0 then return 1 end
  end
  redis.call('SREM', prefix .. 'x:' .. tenant, subject .. ':' .. generation)
  redis.call('SREM', prefix .. 'x', entry)
  return redis.call('EXISTS', prefix .. 'x')
end

operations['recall.readmit'] = function(prefix, tenant, subject, generation)
  redis.call('HSET', prefix .. 'o:' .. tenant, subject, generation)
end

-- sweep   KEYS[1] = the watermark hash; ARGV[1] = how many records at most. Not bound to a position: what it removes is
--         unreadable already, and a second sweeper finds less to do.
local function sweep(keys, args)
  return removing(keys, function() return remove_closed(string.sub(keys[1], 1, -10), tonumber(args[1])) end)
end

-- What every read starts with: this generation is the one that answers (KEYS[2], which whoever wants a certain
-- generation does not give), it has passed the position asked for, and the caller has its index key.
local function marks(keys, prefix, tenant, key_id, least)
  local found = position(keys[1])
  if keys[2] and not is_serving(keys[2], prefix) then return nil, {0, 'generation', found} end
  if found < tonumber(least) then return nil, {0, 'behind', found} end
  local known = redis.call('GETRANGE', prefix .. 'k:' .. tenant, 0, 35)
  if known ~= key_id then return nil, {0, 'key', found} end
  return redis.call('HGETALL', keys[1])
end

-- For each of `numbers` the documents of the records in conflict with it that are active and not closed, or false.
local function rivals_of(prefix, tenant, numbers)
  if #numbers == 0 then return {} end
  local contested, found = redis.call('SMISMEMBER', prefix .. 'w:' .. tenant, unpack(numbers)), {}
  for i, number in ipairs(numbers) do
    local rivals = {}
    for _, other in ipairs(contested[i] == 1 and redis.call('SMEMBERS', prefix .. 'r:' .. number) or {}) do
      local document = redis.call('GET', prefix .. 'd:' .. other)
      local head = document and head_of(document)
      if head and head.state == ACTIVE and not is_blocked(prefix, tenant, guards_of(head, document)[4]) then
        rivals[#rivals + 1] = document
      end
    end
    found[i] = #rivals > 0 and rivals
  end
  return found
end

-- fetch   KEYS[1]; ARGV = tenant, index key id, least position, memory id (16 bytes), its state
--         Returns {1, marks, document or false, its rivals' documents or false}; false too for what is not in that
--         state, or closed.
local function fetch(keys, args)
  local prefix, tenant = string.sub(keys[1], 1, -10), args[1]
  local mark, refusal = marks(keys, prefix, tenant, args[2], args[3])
  if not mark then return refusal end
  local number, document, head = find(prefix, tenant, args[4])
  if not number or head.state ~= tonumber(args[5]) or is_blocked(prefix, tenant, guards_of(head, document)[4]) then
    return {1, mark, false, false}
  end
  return {1, mark, document, rivals_of(prefix, tenant, {number})[1]}
end

-- look    KEYS[1]; ARGV = tenant, index key id, least position, record numbers (at most 1,000)
--         Returns {1, marks, {{document, its rivals' documents or false} or false, …}}, waiting records too; false for
--         what is gone, closed, or another tenant's.
local function look(keys, args)
  local prefix, tenant = string.sub(keys[1], 1, -10), args[1]
  local mark, refusal = marks(keys, prefix, tenant, args[2], args[3])
  if not mark then return refusal end
  local found = {}
  for at = 4, #args do
    local document = redis.call('GET', prefix .. 'd:' .. args[at])
    local head = document and head_of(document)
    found[at - 3] = head and postings_of(head, document)[1] == tenant
      and not is_blocked(prefix, tenant, guards_of(head, document)[4])
      and {document, rivals_of(prefix, tenant, {args[at]})[1]}
  end
  return {1, mark, found}
end
