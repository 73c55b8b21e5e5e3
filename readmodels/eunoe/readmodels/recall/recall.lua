-- The read model `recall`: what is done to a record inside an `apply` call, and the reads.
-- Keys and layouts are those of keys.py. A member is >I5I6I6BHBBH, a head >c24c8BI4I2I4.
--
-- recall.put      record number, document     recall.drop      tenant, memory id (16 bytes)
-- recall.promote  tenant, memory id, trust grade, version      recall.confirm  tenant, memory id, grade, version
-- recall.close    tenant, subject, generation  recall.readmit  tenant, subject, generation
-- Each leaves the same state when it is applied again.

local MEMBER, HEAD, HEAD_BYTES = '>I5I6I6BHBBH', '>c24c8BI4I2I4', 43
local ACTIVE = 1

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

local function post(prefix, member, postings)
  local scores, scopes = postings[4], postings[5]
  for i = 1, #scopes do
    local scope, tokens = scope_number(prefix, postings[1], scopes[i][1], true), scopes[i][2]
    local stem = prefix .. 't:' .. scope .. ':'
    redis.call('INCR', prefix .. 'n:' .. scope)
    for term = 0, #tokens / 8 - 1 do
      redis.call('ZADD', stem .. string.sub(tokens, 8 * term + 1, 8 * term + 8),
        struct.unpack('>I3', scores, 3 * term + 1), member)
    end
  end
end

local function unpost(prefix, member, postings)
  local scopes = postings[5]
  for i = 1, #scopes do
    local scope, tokens = scope_number(prefix, postings[1], scopes[i][1], false), scopes[i][2]
    local stem = prefix .. 't:' .. scope .. ':'
    redis.call('DECR', prefix .. 'n:' .. scope)
    for term = 0, #tokens / 8 - 1 do
      redis.call('ZREM', stem .. string.sub(tokens, 8 * term + 1, 8 * term + 8), member)
    end
  end
end

local function remove(prefix, number)
  local key = prefix .. 'd:' .. number
  local document = redis.call('GET', key)
  if not document then return end
  local head = head_of(document)
  local postings = postings_of(head, document)
  if head.state == ACTIVE then unpost(prefix, head.member, postings) end
  for _, set in ipairs(postings[3]) do redis.call('SREM', prefix .. set, number) end
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

operations['recall.close'] = function(prefix, tenant, subject, generation)
  local closed = redis.call('HGET', prefix .. 'c:' .. tenant, subject)
  if not closed or tonumber(closed) < tonumber(generation) then
    redis.call('HSET', prefix .. 'c:' .. tenant, subject, generation)
  end
  local rest = tenant .. ':' .. subject .. ':' .. generation
  if redis.call('EXISTS', prefix .. 's:' .. rest, prefix .. 'a:' .. rest) > 0 then
    redis.call('SADD', prefix .. 'x:' .. tenant, subject .. ':' .. generation)
    redis.call('SADD', prefix .. 'x', tenant .. ' ' .. subject .. ' ' .. generation)
  end
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

-- sweep   KEYS[1] = the watermark hash; ARGV = how many records at most, the time at which the caller stood at the end
--         of the log ('' if it does not). Not bound to a position: what it removes is unreadable already, and a second
--         sweeper finds less to do.
local function sweep(keys, args)
  if args[2] ~= '' and position(keys[1]) > 0 then redis.call('HSET', keys[1], 'caught_up_at', args[2]) end
  return remove_closed(string.sub(keys[1], 1, -10), tonumber(args[1]))
end

-- What every read starts with: the model has passed the position asked for, under the index key the caller has.
local function marks(keys, prefix, tenant, key_id, least)
  local found = position(keys[1])
  if found < tonumber(least) then return nil, {0, 'behind', found} end
  local known = redis.call('GETRANGE', prefix .. 'k:' .. tenant, 0, 35)
  if known ~= key_id then return nil, {0, 'key', found} end
  return redis.call('HGETALL', keys[1])
end

-- fetch   KEYS[1]; ARGV = tenant, index key id, least position, memory id (16 bytes)
--         Returns {1, marks, document or false}; false too for what is not active, or closed.
local function fetch(keys, args)
  local prefix, tenant = string.sub(keys[1], 1, -10), args[1]
  local mark, refusal = marks(keys, prefix, tenant, args[2], args[3])
  if not mark then return refusal end
  local number, document, head = find(prefix, tenant, args[4])
  if not number or head.state ~= ACTIVE or is_closed(prefix, tenant, guards_of(head, document)[4]) then
    return {1, mark, false}
  end
  return {1, mark, document}
end

-- The k-th largest of the totals of `found`, or nil.
local function kth(found, total, k)
  local top, size = {}, 0
  for i = 1, #found do
    local value = total[found[i]]
    if size < k or value > top[size] then
      local at = size < k and size + 1 or size
      if size < k then size = size + 1 end
      while at > 1 and top[at - 1] < value do
        top[at] = top[at - 1]
        at = at - 1
      end
      top[at] = value
    end
  end
  return size == k and top[k] or nil
end

local REASONS = {'sensitivity', 'class', 'trust'}

-- The hard filters that a posting answers by itself, then those that need the record. Returns the reason, or nil.
local function refusal_of(q, member)
  local number, expires, created, confidence, length, grades, flags, tag = struct.unpack(MEMBER, member)
  if expires <= q.at then return 'expired' end
  if created > q.known_until then return 'not_yet_known' end
  local refused = string.byte(q.mask, grades + 1)
  if refused ~= 48 then return REASONS[refused - 48] end
  if created < q.known_since then return 'too_old' end
  if q.provenance and math.floor(flags / 2) % 2 == 0 then return 'provenance' end
  local special, about = flags % 2 == 1, math.floor(flags / 8) % 2 == 1
  if q.subject and tag ~= q.subject_tag then return 'subject' end
  if special or q.subject or (q.closing and (about or q.closing_tags[tag])) then
    local document = redis.call('GET', q.prefix .. 'd:' .. string.format('%.0f', number))
    if not document then return 'missing' end
    local guards = guards_of(head_of(document), document)
    if q.subject and guards[4][1] ~= q.subject then return 'subject' end
    if q.at < guards[2] or (guards[3] > 0 and q.at >= guards[3]) then return 'validity' end
    if #guards[1] > 0 then
      local listed = false
      for _, surface in ipairs(guards[1]) do listed = listed or surface == q.surface end
      if not listed then return 'surface' end
    end
    for _, ref in ipairs(guards[4]) do
      if q.closing and q.closing[ref] then return 'erased' end
    end
  end
  return nil, confidence, created, length
end

-- Admits a member that is met for the first time: its starting total, or false.
local function admit(q, side, member)
  local refused, confidence, created, length = refusal_of(q, member)
  q.examined = q.examined + 1
  if refused then
    q.excluded[refused] = (q.excluded[refused] or 0) + 1
    q.total[member] = false
    return false
  end
  local found = q.found[side]
  found[#found + 1] = member
  q.all[#q.all + 1] = member
  q.norm[member] = q.c0 + q.c1 * length
  local start = q.confidence * confidence / 100
  if q.recency > 0 then
    start = start + q.recency * 0.5 ^ (math.max(0, q.at - created) / q.half_life)
  end
  q.total[member] = start
  return start
end

local function add(q, list, member, score)
  local total = q.total
  local have = total[member]
  if have == nil then have = admit(q, list.side, member) end
  if not have then return end
  if q.flat then
    total[member] = have + list.weight
  else
    local count = score % 256
    total[member] = have + list.weight * (count * q.k / (count + q.norm[member]))
  end
end

local function bound_of(q, list, score)
  return q.flat and list.weight or list.weight * (math.floor(score / 256) + 1) / 10000
end

-- Reads the head of a list, in the order of impact. A list that is longer remembers what was seen of it.
local function gather(q, list)
  local reply = redis.call('ZREVRANGE', list.key, 0, q.cap - 1, 'WITHSCORES')
  for i = 1, #reply, 2 do add(q, list, reply[i], reply[i + 1]) end
  list.bound = 0
  if list.size <= q.cap then
    list.whole = true
    return
  end
  list.seen = {}
  for i = 1, #reply, 2 do list.seen[reply[i]] = true end
  list.bound = bound_of(q, list, reply[#reply])
  q.capped = true
end

-- What a record of this side can still get from the lists that are not read to their end.
local function rest_of(lists, side)
  local rest = 0
  for _, list in ipairs(lists) do
    if list.side == side and not list.whole then rest = rest + list.bound end
  end
  return rest
end

-- Whether no record that is not a candidate yet can be among the best k.
local function is_enough(q, lists, k)
  if #q.all < k then return false end
  local least = kth(q.all, q.total, k)
  for side = 1, #q.sides do
    if rest_of(lists, side) + q.confidence + q.recency >= least then return false end
  end
  return true
end

-- Exact totals for the candidates that can still be among the best: what a list gives them is asked one by one.
local function complete(q, lists, k)
  local total, norm = q.total, q.norm
  for _, list in ipairs(lists) do
    if not list.whole then
      local least, rest, wanted = kth(q.all, total, k), rest_of(lists, list.side), {}
      for _, member in ipairs(q.found[list.side]) do
        if not (list.seen and list.seen[member]) and (not least or total[member] + rest >= least) then
          wanted[#wanted + 1] = member
        end
      end
      for first = 1, #wanted, 1000 do
        local scores = redis.call('ZMSCORE', list.key, unpack(wanted, first, math.min(first + 999, #wanted)))
        for i = 1, #scores do
          if scores[i] then add(q, list, wanted[first + i - 1], scores[i]) end
        end
      end
      list.whole = true
    end
  end
end

-- Candidates from the records of one subject: few enough to ask every list about each.
local function gather_subject(q, lists, numbers)
  local members = {{}, {}}
  for _, number in ipairs(numbers) do
    local member = redis.call('GETRANGE', q.prefix .. 'd:' .. number, 0, 23)
    if #member == 24 then
      local flags = string.byte(member, 22)
      local side = math.floor(flags / 4) % 2 == 1 and 2 or 1
      table.insert(members[side], member)
    end
  end
  for _, list in ipairs(lists) do
    local asked = members[q.sides[list.side].shared and 2 or 1]
    for first = 1, #asked, 1000 do
      local scores = redis.call('ZMSCORE', list.key, unpack(asked, first, math.min(first + 999, #asked)))
      for i = 1, #scores do
        local member = asked[first + i - 1]
        if scores[i] and (list.selects or q.total[member]) then add(q, list, member, scores[i]) end
      end
    end
    list.whole = true
  end
end

local function number_of(member) return (struct.unpack('>I5', member)) end

-- The best k members, best first; equal totals (to a billionth) by record number.
local function best(q, k)
  local top, keyed = {}, {}
  for _, member in ipairs(q.all) do
    local value, size = math.floor(q.total[member] * 1e9 + 0.5), #top
    if size < k or value >= keyed[size] then
      local at = size + 1
      while at > 1 and (keyed[at - 1] < value
          or (keyed[at - 1] == value and number_of(member) < number_of(top[at - 1]))) do
        at = at - 1
      end
      table.insert(top, at, member)
      table.insert(keyed, at, value)
      top[k + 1], keyed[k + 1] = nil, nil
    end
  end
  return top
end

-- The posting lists that the query's terms have in the scopes asked, rarest term first, each with its size.
local function lists_of(q, args, at, records)
  local terms, frequencies = {}, {}
  for term = 1, (#args - at + 1) / 4 do
    local first = at + 4 * (term - 1)
    local entry = {lists = {}, selects = args[first + 3] == '1', order = term}
    local holding = 0
    for side, scope in ipairs(q.sides) do
      local key = q.prefix .. 't:' .. scope.number .. ':' .. args[first + (scope.shared and 1 or 0)]
      local size = redis.call('ZCARD', key)
      holding = holding + size
      if size > 0 then
        table.insert(entry.lists, {key = key, size = size, side = side, selects = entry.selects, term = term})
      end
    end
    frequencies[term] = holding
    entry.weight = tonumber(args[first + 2])
    if not q.flat then entry.weight = entry.weight * math.log(1 + (records - holding + 0.5) / (holding + 0.5)) end
    terms[term] = entry
  end
  table.sort(terms, function(a, b)
    if a.weight ~= b.weight then return a.weight > b.weight end
    return a.order < b.order
  end)
  local lists = {}
  for _, entry in ipairs(terms) do
    for _, list in ipairs(entry.lists) do
      list.weight = entry.weight
      list.bound = bound_of(q, list, redis.call('ZREVRANGE', list.key, 0, 0, 'WITHSCORES')[2])
      table.insert(lists, list)
    end
  end
  return lists, frequencies
end

local function closing_of(q, tenant)
  local refs = redis.call('SMEMBERS', q.prefix .. 'x:' .. tenant)
  if #refs == 0 then return end
  q.closing, q.closing_tags = {}, {}
  for _, ref in ipairs(refs) do
    q.closing[ref] = true
    q.closing_tags[tonumber(string.sub(ref, 1, 4), 16)] = true
  end
end

-- Each hit: its document, and how often it holds each term of the query.
local function hits_of(q, lists, terms, top)
  local counts, hits = {}, {}
  for i, member in ipairs(top) do counts[i] = {} end
  if #top > 0 then
    for _, list in ipairs(lists) do
      local scores = redis.call('ZMSCORE', list.key, unpack(top))
      for i = 1, #top do
        if scores[i] then counts[i][list.term] = scores[i] % 256 end
      end
    end
  end
  for i, member in ipairs(top) do
    local flat = {}
    for term = 1, terms do flat[term] = counts[i][term] or 0 end
    hits[i] = {redis.call('GET', q.prefix .. 'd:' .. string.format('%.0f', number_of(member))), flat}
  end
  return hits
end

-- search  KEYS[1] = the watermark hash
--         ARGV    = tenant, index key id, least position, own scope, shared scope ('' for neither), reference time,
--                   created at most, created at least, provenance needed (0|1), grade mask (256 digits), surface,
--                   subject ('' for any), cap, how many, weight of confidence, of recency, half-life,
--                   flat (0|1), k1 + 1, c0, c1 (norm = c0 + c1 * length),
--                   then for each term: token in the own scope, in the shared one, weight, selects (0|1)
--         Returns {1, marks, records in scope, {records holding each term}, {{document, {count of each term}}, …},
--                  {reason, count, …}, examined, capped (0|1), candidates}, or {0, why, position}.
local function search(keys, args)
  local prefix, tenant = string.sub(keys[1], 1, -10), args[1]
  local mark, refusal = marks(keys, prefix, tenant, args[2], args[3])
  if not mark then return refusal end
  local q = {
    prefix = prefix, sides = {}, at = tonumber(args[6]), known_until = tonumber(args[7]),
    known_since = tonumber(args[8]), provenance = args[9] == '1', mask = args[10], surface = args[11],
    cap = tonumber(args[13]), confidence = tonumber(args[15]), recency = tonumber(args[16]),
    half_life = tonumber(args[17]), flat = args[18] == '1', k = tonumber(args[19]), c0 = tonumber(args[20]),
    c1 = tonumber(args[21]), total = {}, norm = {}, all = {}, found = {}, excluded = {}, examined = 0, capped = false,
  }
  local wanted, records = tonumber(args[14]), 0
  for i = 4, 5 do
    local number = args[i] ~= '' and scope_number(prefix, tenant, args[i], false)
    if number then
      table.insert(q.sides, {number = number, shared = i == 5})
      q.found[#q.sides] = {}
      records = records + tonumber(redis.call('GET', prefix .. 'n:' .. number) or '0')
    end
  end
  closing_of(q, tenant)
  local lists, frequencies = lists_of(q, args, 22, records)
  local numbers
  if args[12] ~= '' then
    q.subject = args[12] .. ':' .. (redis.call('HGET', prefix .. 'o:' .. tenant, args[12]) or '1')
    q.subject_tag = tonumber(string.sub(args[12], 1, 4), 16)
    local set = prefix .. 's:' .. tenant .. ':' .. q.subject
    if redis.call('SCARD', set) <= 2000 then numbers = redis.call('SMEMBERS', set) end
  end
  if numbers then
    gather_subject(q, lists, numbers)
  else
    for _, list in ipairs(lists) do
      if list.selects and not is_enough(q, lists, wanted) then gather(q, list) end
    end
    if q.capped and is_enough(q, lists, wanted) then q.capped = false end
    complete(q, lists, wanted)
  end
  local excluded = {}
  for reason, count in pairs(q.excluded) do
    if reason ~= 'subject' then
      table.insert(excluded, reason)
      table.insert(excluded, count)
    end
  end
  local hits = hits_of(q, lists, #frequencies, best(q, wanted))
  return {1, mark, records, frequencies, hits, excluded, q.examined, q.capped and 1 or 0, #q.all}
end
