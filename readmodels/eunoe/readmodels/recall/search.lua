-- The search of `recall`, put behind recall.lua. Postings are read in the order of impact, and only as far as needed.

-- The k-th largest total among `members`, or nil.
local function kth(members, total, k)
  local top, size = {}, 0
  for i = 1, #members do
    local value = total[members[i]]
    if size < k or value > top[size] then
      if size < k then size = size + 1 end
      local at = size
      while at > 1 and top[at - 1] < value do
        top[at] = top[at - 1]
        at = at - 1
      end
      top[at] = value
    end
  end
  return size == k and top[k] or nil
end

local REASONS, BEYOND = {'sensitivity', 'class', 'trust'}, 52

-- What only the record tells: surfaces, bounds of validity, and whose it is. Nil where it is gone.
local function guards_at(q, number)
  local document = redis.call('GET', q.prefix .. 'd:' .. string.format('%.0f', number))
  return document and guards_of(head_of(document), document)
end

-- Whether one of its people is being removed, or may not be read for now.
local function is_closing(q, refs)
  for _, ref in ipairs(refs) do
    if q.closing[ref] then return true end
  end
  return false
end

local function guarded(q, guards)
  if q.at < guards[2] or (guards[3] > 0 and q.at >= guards[3]) then return 'validity' end
  if #guards[1] == 0 then return end
  for _, surface in ipairs(guards[1]) do
    if surface == q.surface then return end
  end
  return 'surface'
end

-- Whether this caller may know of a record: not of what is above its clearance, nor of people who are forgotten or
-- restricted. Nothing tells of the others, no count and no score. And its guards, where they had to be looked at.
local function is_known(q, number, grades, flags, tag)
  if string.byte(q.mask, grades + 1) == BEYOND then return false end
  if not q.closing or not (q.closing_tags[tag] or math.floor(flags / 8) % 2 == 1) then return true end
  local guards = guards_at(q, number)
  return guards and not is_closing(q, guards[4]), guards
end

-- Puts a member that is met for the first time through the hard filters. What it starts with, or false.
local function admit(q, side, member)
  local number, expires, created, confidence, _, grades, flags, tag = struct.unpack(MEMBER, member)
  local inside, guards = is_known(q, number, grades, flags, tag)
  if inside and q.subject then inside = tag == q.subject_tag end
  if inside and not guards and (q.subject or flags % 2 == 1) then
    guards = guards_at(q, number)
    inside = guards
  end
  if not inside or (q.subject and guards[4][1] ~= q.subject) then
    q.total[member] = false
    return false
  end
  local refused
  if expires <= q.at then
    refused = 'expired'
  elseif created > q.known_until then
    refused = 'not_yet_known'
  else
    local digit = string.byte(q.mask, grades + 1)
    if digit ~= 48 then
      refused = REASONS[digit - 48]
    elseif created < q.known_since then
      refused = 'too_old'
    elseif q.provenance and math.floor(flags / 2) % 2 == 0 then
      refused = 'provenance'
    elseif guards then
      refused = guarded(q, guards)
    end
  end
  q.examined = q.examined + 1
  if refused then
    q.excluded[refused] = (q.excluded[refused] or 0) + 1
    q.total[member] = false
    return false
  end
  local found, size = q.found[side], q.size + 1
  found[#found + 1] = member
  q.all[size], q.size, q.side[member] = member, size, side
  local age = q.at - created
  local start = q.confidence * confidence / 100 + q.recency * 0.5 ^ ((age > 0 and age or 0) / q.half_life)
  q.total[member] = start
  return start
end

-- Reads the head of a list, in the order of impact. A list that is longer remembers what was seen of it.
local function gather(q, list)
  local reply = list.head or redis.call('ZREVRANGE', list.key, 0, q.cap - 1, 'WITHSCORES')
  local total, side, flat, scale = q.total, list.side, q.flat and list.weight, list.weight / STEPS
  for i = 1, #reply, 2 do
    local member = reply[i]
    local have = total[member]
    if have == nil then have = admit(q, side, member) end
    if have then total[member] = have + (flat or scale * reply[i + 1]) end
  end
  list.bound = 0
  if list.size <= q.cap then
    list.whole = true
    return
  end
  local seen = {}
  for i = 1, #reply, 2 do seen[reply[i]] = true end
  list.seen = seen
  list.bound = flat or scale * reply[#reply]
  q.capped = true
end

-- What a record of each side can still get from lists that are not read to their end.
local function rests(q, lists)
  local rest = {0, 0}
  for _, list in ipairs(lists) do
    if not list.whole then
      if not list.bound then
        list.bound = q.flat and list.weight
          or list.weight / STEPS * redis.call('ZREVRANGE', list.key, 0, 0, 'WITHSCORES')[2]
      end
      rest[list.side] = rest[list.side] + list.bound
    end
  end
  return rest
end

-- Adds to `into` (which starts at a candidate's total) what the list gives each of `members`.
local function ask(q, list, members, into)
  local total, flat, scale = q.total, q.flat and list.weight, list.weight / STEPS
  for first = 1, #members, 1000 do
    local scores = redis.call('ZMSCORE', list.key, unpack(members, first, math.min(first + 999, #members)))
    for i = 1, #scores do
      local score = scores[i]
      if score then
        local member = members[first + i - 1]
        -- Candidates of one subject come here first; everybody else has been admitted.
        if total[member] == nil and list.selects then admit(q, list.side, member) end
        local have = into[member] or total[member]
        if have then into[member] = have + (flat or scale * score) end
      end
    end
  end
end

local function number_of(member) return (struct.unpack('>I5', member)) end

-- Whether a total comes before another: equal ones (to 1e-5, above what rounding a posting's impact loses) by number.
local function precedes(value, member, other, other_member)
  local difference = value - other
  if difference > 1e-5 then return true end
  return difference >= -1e-5 and number_of(member) < number_of(other_member)
end

-- The best k members, best first.
local function best(q, k)
  local top, totals, size, total, floor = {}, {}, 0, q.total, -1
  local all = q.all
  for i = 1, q.size do
    local member = all[i]
    local value = total[member]
    if value >= floor and (size < k or precedes(value, member, totals[k], top[k])) then
      if size < k then size = size + 1 end
      local at = size
      while at > 1 and precedes(value, member, totals[at - 1], top[at - 1]) do
        top[at], totals[at] = top[at - 1], totals[at - 1]
        at = at - 1
      end
      top[at], totals[at] = member, value
      if size == k then floor = totals[k] - 1e-5 end
    end
  end
  return top
end

-- Works out exactly the candidates that lead so far: their k-th total is what everybody else has to reach. Done early,
-- it spares most other candidates the asking, and most long lists the reading.
local function raise(q, lists, k)
  local leaders, exact = best(q, k), {}
  for _, member in ipairs(leaders) do exact[member] = q.total[member] end
  for _, list in ipairs(lists) do
    if not list.whole then
      local wanted = {}
      for _, member in ipairs(leaders) do
        if q.side[member] == list.side and not (list.seen and list.seen[member]) then wanted[#wanted + 1] = member end
      end
      if #wanted > 0 then ask(q, list, wanted, exact) end
    end
  end
  local least = kth(leaders, exact, k)
  if least and least > q.least then q.least = least end
  q.raised = q.size
  return leaders, exact
end

-- Whether no record that is not a candidate yet can be among the best k.
local function is_enough(q, lists, k)
  if q.size < k then return false end
  if q.size > 2 * q.raised then
    if k <= FEW then
      raise(q, lists, k)
    else
      q.least, q.raised = kth(q.all, q.total, k), q.size
    end
  end
  local rest = rests(q, lists)
  return math.max(rest[1], rest[2]) + q.confidence + q.recency < q.least
end

-- Exact totals for the candidates that can still be among the best: what a list gives them is asked one by one.
local function complete(q, lists, k)
  local total, rest = q.total, rests(q, lists)
  local done = {}
  if q.size > k then
    local leaders, exact = raise(q, lists, k)
    for _, member in ipairs(leaders) do total[member], done[member] = exact[member], true end
  end
  local left = {q.found[1], q.found[2]}
  for _, list in ipairs(lists) do
    if not list.whole then
      local side, seen, wanted, kept = list.side, list.seen, {}, {}
      local enough = q.least - rest[side]
      for _, member in ipairs(left[side]) do
        if total[member] >= enough and not done[member] then
          kept[#kept + 1] = member
          if not (seen and seen[member]) then wanted[#wanted + 1] = member end
        end
      end
      left[side] = kept
      if #wanted > 0 then ask(q, list, wanted, total) end
      rest[side] = rest[side] - list.bound
    end
  end
end

-- Candidates from the records of one subject: few enough to ask every list about each.
local function gather_subject(q, lists, numbers)
  local members = {{}, {}}
  for _, number in ipairs(numbers) do
    local member = redis.call('GETRANGE', q.prefix .. 'd:' .. number, 0, 23)
    if #member == 24 then
      local side = math.floor(string.byte(member, 22) / 4) % 2 + 1
      members[side][#members[side] + 1] = member
    end
  end
  for _, list in ipairs(lists) do ask(q, list, members[list.side], q.total) end
end

-- How many records of a list this caller may know of; a score must not tell of the others. Of a list that is longer
-- than what is read of it, a power of two, by the share among those read.
local function known_of(q, list)
  if not q.hides then return list.size end
  list.head = redis.call('ZREVRANGE', list.key, 0, q.cap - 1, 'WITHSCORES')
  local known = 0
  for i = 1, #list.head, 2 do
    local number, _, _, _, _, grades, flags, tag = struct.unpack(MEMBER, list.head[i])
    if is_known(q, number, grades, flags, tag) then known = known + 1 end
  end
  if list.size <= q.cap or known == 0 then return known end
  return 2 ^ math.floor(math.log(list.size * known / (#list.head / 2)) / math.log(2))
end

-- How many records of a scope are not above this caller's clearance.
local function records_of(q, scope)
  local records = tonumber(redis.call('GET', q.prefix .. 'n:' .. scope) or '0')
  for level = 0, 3 do
    if string.byte(q.mask, level + 1) == BEYOND then
      records = records - tonumber(redis.call('HGET', q.prefix .. 'h:' .. scope, level) or '0')
    end
  end
  return math.max(0, records)
end

-- The posting lists that the query's terms have in the scopes asked, heaviest term first, and how many records of
-- these scopes hold each term.
local function lists_of(q, args, at, records)
  local terms, frequencies = {}, {}
  for term = 1, (#args - at + 1) / 4 do
    local first = at + 4 * (term - 1)
    local selects, holding, lists = args[first + 3] == '1', 0, {}
    for side = 1, 2 do
      if q.stems[side] then
        local key = q.stems[side] .. args[first + side - 1]
        local list = {key = key, size = redis.call('ZCARD', key), side = side, selects = selects}
        local known = list.size > 0 and known_of(q, list) or 0
        holding = holding + known
        if known > 0 then lists[#lists + 1] = list end
      end
    end
    local weight = tonumber(args[first + 2])
    if not q.flat then weight = weight * math.log(1 + (records - holding + 0.5) / (holding + 0.5)) end
    frequencies[term] = holding
    terms[term] = {lists = lists, weight = weight, holding = holding, order = term}
  end
  table.sort(terms, function(a, b)
    if a.weight ~= b.weight then return a.weight > b.weight end
    if a.holding ~= b.holding then return a.holding < b.holding end
    return a.order < b.order
  end)
  local lists = {}
  for _, term in ipairs(terms) do
    for _, list in ipairs(term.lists) do
      list.weight = term.weight
      lists[#lists + 1] = list
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

-- What this caller may not know of. `hides`: there may be something like that.
local function hide(q, tenant)
  closing_of(q, tenant)
  q.hides = q.closing ~= nil or string.find(q.mask, '4', 1, true) ~= nil
end

-- The numbers of the records of the subject asked for, or nil where there is none or they are too many to ask about.
local function subject_of(q, tenant, subject)
  if subject == '' then return end
  local prefix = q.prefix
  q.subject = subject .. ':' .. (redis.call('HGET', prefix .. 'o:' .. tenant, subject) or '1')
  q.subject_tag = tonumber(string.sub(subject, 1, 4), 16)
  local set = prefix .. 's:' .. tenant .. ':' .. q.subject
  if redis.call('SCARD', set) <= 2000 then return redis.call('SMEMBERS', set) end
end

local function documents(q, members)
  if #members == 0 then return {} end
  local keys = {}
  for i, member in ipairs(members) do keys[i] = q.prefix .. 'd:' .. string.format('%.0f', number_of(member)) end
  return redis.call('MGET', unpack(keys))
end

-- A second pass over the best candidates (rank_neighbours.py): each gains a share of the total of the one that was
-- remembered just before it on the same occasion. Returns them in the new order, and who came before whom.
local function with_neighbours(q, top, share)
  local occasions, before, order, gained = {}, {}, {}, {}
  for _, member in ipairs(top) do
    local occasion = redis.call('GETRANGE', q.prefix .. 'd:' .. string.format('%.0f', number_of(member)), 24, 31)
    if occasion ~= NO_OCCASION then
      occasions[occasion] = occasions[occasion] or {}
      table.insert(occasions[occasion], member)
    end
  end
  for _, members in pairs(occasions) do
    table.sort(members, function(a, b) return number_of(a) < number_of(b) end)
    for i = 2, #members do before[members[i]] = members[i - 1] end
  end
  for i, member in ipairs(top) do
    order[i] = member
    gained[member] = q.total[member] + (before[member] and share * q.total[before[member]] or 0)
  end
  table.sort(order, function(a, b)
    local more, less = math.floor(gained[a] * 1e5 + 0.5), math.floor(gained[b] * 1e5 + 0.5)
    if more ~= less then return more > less end
    return number_of(a) < number_of(b)
  end)
  return order, before
end

-- The best `wanted` documents, and for each the document that it gained from, and those in conflict with it, or false.
local function hits_of(q, tenant, wanted, depth, share)
  local top, before = best(q, math.max(wanted, depth)), {}
  if depth > 0 then
    local head, rest = {}, {}
    for i, member in ipairs(top) do table.insert(i <= depth and head or rest, member) end
    head, before = with_neighbours(q, head, share)
    for _, member in ipairs(rest) do head[#head + 1] = member end
    top = head
  end
  for i = #top, wanted + 1, -1 do top[i] = nil end
  local earlier = {}
  for _, member in ipairs(top) do
    if before[member] then earlier[#earlier + 1] = before[member] end
  end
  local found, at, gave, numbers = documents(q, top), 0, documents(q, earlier), {}
  for i, member in ipairs(top) do numbers[i] = string.format('%.0f', number_of(member)) end
  local rivals = rivals_of(q.prefix, tenant, numbers)
  for i, member in ipairs(top) do
    if before[member] then at = at + 1 end
    found[i] = {found[i], before[member] and gave[at] or false, rivals[i]}
  end
  return found
end

-- search  KEYS[1] = the watermark hash
--         ARGV    = tenant, index key id, least position, own scope, shared scope, reference time, created at most,
--                   created at least, provenance needed (0|1), grade mask (256 digits), surface, subject ('' for any),
--                   cap ('': the square root of the records in scope, at least 64 and as many as are wanted), how many,
--                   weight of confidence, of recency, half-life, flat (0|1), candidates of the neighbour pass (0: none),
--                   its share,
--                   the largest scope that gets it,
--                   then for each term: token in the own scope, in the shared one, weight, selects (0|1)
--         Returns {1, marks, records in scope, {records holding each term},
--                  {{document, the one before or false, {those in conflict with it} or false}, …},
--                  {reason, count, …}, examined, capped (0|1)}, or {0, why, position}. Documents come best first.
local function search(keys, args)
  local prefix, tenant = string.sub(keys[1], 1, -10), args[1]
  local mark, refusal = marks(keys, prefix, tenant, args[2], args[3])
  if not mark then return refusal end
  local q = {
    prefix = prefix, at = tonumber(args[6]), known_until = tonumber(args[7]), known_since = tonumber(args[8]),
    provenance = args[9] == '1', mask = args[10], surface = args[11],
    confidence = tonumber(args[15]), recency = tonumber(args[16]), half_life = tonumber(args[17]),
    flat = args[18] == '1', stems = {}, total = {}, all = {}, size = 0, found = {{}, {}}, excluded = {}, examined = 0,
    capped = false, side = {}, least = -1, raised = 0,
  }
  local records = 0
  for side = 1, 2 do
    local number = scope_number(prefix, tenant, args[3 + side], false)
    if number then
      q.stems[side] = prefix .. 't:' .. number .. ':'
      records = records + records_of(q, number)
    end
  end
  -- Where every record weighs the same, impact tells little about who is best: more of a list has to be read.
  q.cap = args[13] == '' and math.max(64, tonumber(args[14]), math.floor(math.sqrt(records))) * (q.flat and 4 or 1) or tonumber(args[13])
  local depth = records <= tonumber(args[21]) and tonumber(args[19]) or 0
  local wanted = math.max(tonumber(args[14]), depth)
  hide(q, tenant)
  local lists, frequencies = lists_of(q, args, 22, records)
  local numbers = subject_of(q, tenant, args[12])
  if numbers then
    gather_subject(q, lists, numbers)
  else
    for _, list in ipairs(lists) do
      -- A short list is read sooner than it is known whether it is needed.
      if list.size > SHORT and is_enough(q, lists, wanted) then break end
      if list.selects then gather(q, list) end
    end
    if q.capped and is_enough(q, lists, wanted) then q.capped = false end
    complete(q, lists, wanted)
  end
  local excluded = {}
  for reason, count in pairs(q.excluded) do
    excluded[#excluded + 1] = reason
    excluded[#excluded + 1] = count
  end
  local hits = hits_of(q, tenant, tonumber(args[14]), depth, tonumber(args[20]))
  return {1, mark, records, frequencies, hits, excluded, q.examined, q.capped and 1 or 0}
end

-- count   KEYS[1]; ARGV = tenant, index key id, least position, own scope, shared scope, grade mask, cap,
--         then for each term: token in the own scope, in the shared one
--         Returns {1, marks, {records holding each term}}.
local function count(keys, args)
  local prefix, tenant = string.sub(keys[1], 1, -10), args[1]
  local mark, refusal = marks(keys, prefix, tenant, args[2], args[3])
  if not mark then return refusal end
  local counts, q = {}, {prefix = prefix, mask = args[6], cap = tonumber(args[7])}
  hide(q, tenant)
  for side = 1, 2 do
    local number = scope_number(prefix, tenant, args[3 + side], false)
    for at = 1, (#args - 7) / 2 do
      local key = number and prefix .. 't:' .. number .. ':' .. args[6 + 2 * at + side - 1]
      local size = key and redis.call('ZCARD', key) or 0
      counts[at] = (counts[at] or 0) + (size > 0 and known_of(q, {key = key, size = size}) or 0)
    end
  end
  return {1, mark, counts}
end
