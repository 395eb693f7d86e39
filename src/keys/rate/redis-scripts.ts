/** Reads since when counts exist; a value other than before means that Redis has lost them. */
const readSince = (key: string): string => `
  local since = redis.call('GET', ${key})
  if not since then
    since = string.format('%.0f', now)
    redis.call('SET', ${key}, since)
  end
`;

/**
 * List of timestamps in microseconds of the server's clock, the newest first: the same sliding window as in process.
 * Also returns since when counts exist.
 */
export const takeScript = `
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local limit, window = tonumber(ARGV[1]), ARGV[2] * 1000
  local oldest = redis.call('LINDEX', KEYS[1], -1)
  while oldest and tonumber(oldest) <= now - window do
    redis.call('RPOP', KEYS[1])
    oldest = redis.call('LINDEX', KEYS[1], -1)
  end
  local used = redis.call('LLEN', KEYS[1])
  local allowed = used < limit
  if allowed and ARGV[3] == '1' then
    redis.call('LPUSH', KEYS[1], string.format('%.0f', now))
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    used = used + 1
  end
  local reset, retry = 0, 0
  if used > 0 then reset = redis.call('LINDEX', KEYS[1], 0) + window - now end
  if used >= limit then retry = redis.call('LINDEX', KEYS[1], limit - 1) + window - now end
  ${readSince('KEYS[2]')}
  return {allowed and 1 or 0, used, math.ceil(reset / 1000), math.ceil(retry / 1000), since}
`;

/** Timestamps by id in one key, and the tokens of each id in another, whose field # is their sum. */
export const takeTokensScript = `
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local limit, window, wanted = tonumber(ARGV[1]), ARGV[2] * 1000, tonumber(ARGV[4])
  repeat
    local gone = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - window), 'LIMIT', 0, 500)
    if #gone > 0 then
      local freed = 0
      for _, tokens in ipairs(redis.call('HMGET', KEYS[2], unpack(gone))) do freed = freed + (tonumber(tokens) or 0) end
      redis.call('HDEL', KEYS[2], unpack(gone))
      redis.call('HINCRBY', KEYS[2], '#', -freed)
      redis.call('ZREM', KEYS[1], unpack(gone))
    end
  until #gone < 500
  local used = tonumber(redis.call('HGET', KEYS[2], '#') or 0)
  local allowed = used + wanted <= limit
  local reset, retry = 0, 0
  if not allowed then
    local left, from, size = used, 0, 4
    retry = window
    repeat
      local some = redis.call('ZRANGE', KEYS[1], from, from + size - 1, 'WITHSCORES')
      local isLast = #some < size * 2
      for place = 1, #some, 2 do
        left = left - tonumber(redis.call('HGET', KEYS[2], some[place]) or 0)
        if left + wanted <= limit then
          retry = some[place + 1] + window - now
          isLast = true
          break
        end
      end
      from = from + size
      size = size * 2
    until isLast or from >= 2000
  elseif ARGV[3] == '1' then
    redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[5])
    redis.call('HSET', KEYS[2], ARGV[5], wanted)
    used = redis.call('HINCRBY', KEYS[2], '#', wanted)
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    redis.call('PEXPIRE', KEYS[2], ARGV[2])
  end
  local newest = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
  if #newest > 0 then reset = newest[2] + window - now end
  ${readSince('KEYS[3]')}
  return {allowed and 1 or 0, used, math.ceil(reset / 1000), math.ceil(retry / 1000), since}
`;

export const correctTokensScript = `
  local before = redis.call('HGET', KEYS[1], ARGV[1])
  if before then
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
    redis.call('HINCRBY', KEYS[1], '#', ARGV[2] - before)
  end
`;

/** Open calls by id with the end of their lease: calls of a dead node expire automatically. */
export const enterScript = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  local used = redis.call('ZCARD', KEYS[1])
  local allowed = used < tonumber(ARGV[1])
  if allowed and ARGV[3] ~= '' then
    redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    used = used + 1
  end
  ${readSince('KEYS[2]')}
  return {allowed and 1 or 0, used, since}
`;

/** Renews the leases of open calls; a lease that Redis has lost is restored. */
export const renewScript = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  for place = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[place]) end
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
`;

export const heartbeatScript = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
  return redis.call('ZCARD', KEYS[1])
`;
