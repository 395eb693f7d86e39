import type { Redis, Result } from 'ioredis';
import type { RateWindow, Reading } from './reading';

declare module 'ioredis' {
  interface RedisCommander<Context> {
    rateTake(
      key: string,
      sinceKey: string,
      limit: number,
      windowMs: number,
      adds: 0 | 1,
    ): Result<[allowed: number, used: number, resetMs: number, retryMs: number, since: string], Context>;
    ratePresence(key: string, node: string, forgetMs: number): Result<number, Context>;
  }
}

/**
 * A list of moments in microseconds of the server's clock, the newest first: the same sliding window as in process. With
 * it comes since when there are counts at all.
 */
const takeScript = `
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
  local since = redis.call('GET', KEYS[2])
  if not since then
    since = string.format('%.0f', now)
    redis.call('SET', KEYS[2], since)
  end
  return {allowed and 1 or 0, used, math.ceil(reset / 1000), math.ceil(retry / 1000), since}
`;

const presenceScript = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
  return redis.call('ZCARD', KEYS[1])
`;

const PREFIX = 'switchboard:rate:';
/** A node that was not heard of for this long is not counted. */
const FORGET_NODE_MS = 10_000;

export interface SharedReading extends Reading {
  /** Another one than before: Redis has lost what it had counted. */
  readonly since: string;
}

/** The windows in Redis: one for all nodes, read and written in one round trip by its clock. */
export class RedisWindows {
  constructor(private readonly redis: Redis) {
    redis.defineCommand('rateTake', { numberOfKeys: 2, lua: takeScript });
    redis.defineCommand('ratePresence', { numberOfKeys: 1, lua: presenceScript });
  }

  take(window: RateWindow): Promise<SharedReading> {
    return this.run(window, 1);
  }

  look(window: RateWindow): Promise<SharedReading> {
    return this.run(window, 0);
  }

  /** Says that this node is there, and hears how many are. */
  present(node: string): Promise<number> {
    return this.redis.ratePresence(`${PREFIX}nodes`, node, FORGET_NODE_MS);
  }

  close(): void {
    this.redis.disconnect();
  }

  private async run({ key, limit, windowMs }: RateWindow, adds: 0 | 1): Promise<SharedReading> {
    const answer = await this.redis.rateTake(PREFIX + key, `${PREFIX}since`, limit, windowMs, adds);
    const [allowed, used, resetMs, retryMs, since] = answer;
    return { allowed: allowed === 1, limit, used, resetMs, retryMs, since };
  }
}
