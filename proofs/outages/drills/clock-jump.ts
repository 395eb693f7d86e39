import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { longStreamShot, mixedShot, plainShot, SLOW } from '../catalogue';
import { checkAnswers, checkBooks, checkHolds, checkUncaughtErrors } from '../checks';
import type { GatewayProcess } from '../testbed';
import {
  call,
  type Endpoint,
  idsOf,
  isServed,
  Load,
  recoveredAfter,
  type ObservedCall,
  tally,
  times,
} from '../load';
import { seconds, spread } from '../report';
import type { OutageDrill, OutageDrillContext } from '../drill';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const CALLS_PER_SECOND = 40;
const OTHER_CALLS_PER_SECOND = 5;
const STREAM_COUNT = 10;
const LIMIT_RPM = 30;
/** A sole lane is probed once per second, and callers arrive five times per second. */
const LANE_RECOVERY_MS = 2_500;
const PAUSE_MS = 3_000;
/** Longer than any call of this drill, however slow the machine is. */
const MAX_CALL_MS = 20_000;
const name = 'Clock of a node an hour off';

/** Time in ms since the start, and the clock offset from then on: backward, forward and correct again. */
const jumps = [
  { at: 6_000, shift: -HOUR_MS },
  { at: 22_000, shift: HOUR_MS },
  { at: 38_000, shift: 0 },
] as const;

/** The wall clock of a process jumps while it serves; the database's clock, which nodes rely on, does not. */
export const clockJump: OutageDrill = {
  name: 'clock-jump',
  alerts: ['ClockWrong'],
  async run(context) {
    const { testbed } = context;
    const file = join(testbed.postgres.folder, 'clock-shift');
    writeFileSync(file, '0');
    const preload = 'proofs/outages/shifted-clock.js';
    const node = await testbed.startNode('clock', { preload, environment: { CLOCK_SHIFT_FILE: file } });
    const setClock = async (shift: number): Promise<void> => {
      writeFileSync(file, String(shift));
      node.program.signal('SIGUSR2');
      await node.program.find(new RegExp(`shifted by ${shift} ms`));
    };
    await withJumps(context, node, setClock);
    await node.stop();
  },
};

interface ClockJumpCallers {
  readonly ordinary: Load;
  /** Ten times the rate limit of its key. */
  readonly limited: Load;
  /** Calls to a supplier that is down around every jump. */
  readonly slow: Load;
}

async function withJumps(
  context: OutageDrillContext,
  node: GatewayProcess,
  set: (shift: number) => Promise<void>,
): Promise<void> {
  const { testbed, report } = context;
  const key = await testbed.createKey(testbed.shared, {
    name: 'of a jumping clock',
    rate_limit_rpm: LIMIT_RPM,
  });
  const startedAt = performance.now();
  const endpoint = node.endpoint(testbed.key);
  const callers: ClockJumpCallers = {
    ordinary: new Load([endpoint], mixedShot).start(CALLS_PER_SECOND),
    limited: new Load([node.endpoint(key.text)], (index) => plainShot('chatty', index)).start(
      OTHER_CALLS_PER_SECOND,
    ),
    slow: new Load([endpoint], (index) => plainShot(SLOW, index)).start(OTHER_CALLS_PER_SECOND),
  };
  const waitUntil = (at: number): Promise<unknown> => delay(Math.max(0, startedAt + at - performance.now()));
  const endChecks = checkKeyExpiry(context, node, waitUntil);
  const streams: ObservedCall[] = [];
  for (const { at, shift } of jumps) {
    await waitUntil(at - 2_000);
    const open = Array.from({ length: STREAM_COUNT }, (_, index) => call(endpoint, longStreamShot(index, 4)));
    const repairSupplier = await testbed.slow.fault({
      match: { model: `sim-${SLOW}` },
      fault: { kind: 'status', status: 503 },
    });
    await waitUntil(at);
    await set(shift);
    await delay(1_000);
    await repairSupplier();
    const repairedAt = performance.now();
    await checkLane(
      context,
      callers.slow,
      repairedAt,
      `after ${nameOf(shift)}, a lane that was down is back`,
    );
    if (shift < 0) await checkPause(context, callers.slow);
    streams.push(...(await Promise.all(open)));
  }
  await endChecks;
  await waitUntil(MINUTE_MS + 5_000);
  const all = Object.values(callers) as Load[];
  await Promise.all(all.map((load) => load.stop()));

  checkAnswers(context, name, callers.ordinary.seen, []);
  checkAnswers(context, `${name}: streams open when it jumped`, streams, []);
  checkLimit(context, callers.limited, startedAt);
  const served = [...all.flatMap((load) => load.served), ...streams.filter(isServed)];
  const lost = await checkBooks(context, name, served);
  await checkDurations(context, served);
  const held = await checkHolds(context, name, node);
  checkUncaughtErrors(context, name, node);
  report.row({
    outage: `${name}, back, forth and right again, at ${CALLS_PER_SECOND}/s`,
    answers: tally([...callers.ordinary.seen, ...streams]),
    time: spread(times(callers.ordinary.seen)),
    lost,
    recovery: `nothing to recover; money held: ${held}`,
  });
}

const nameOf = (shift: number): string => (shift === 0 ? 'the right time' : `${shift > 0 ? '+' : '−'}1 h`);

async function checkLane(
  { report }: OutageDrillContext,
  load: Load,
  since: number,
  what: string,
): Promise<void> {
  await delay(LANE_RECOVERY_MS + 500);
  const recoveryMs = recoveredAfter(load, since);
  report.check(
    `${name}: ${what}`,
    `within ${seconds(LANE_RECOVERY_MS)}`,
    seconds(recoveryMs),
    recoveryMs <= LANE_RECOVERY_MS,
  );
}

/** A supplier names the time of its next attempt by its own clock; this must not become an hour. */
async function checkPause(context: OutageDrillContext, load: Load): Promise<void> {
  const retryAt = new Date(Date.now() + PAUSE_MS).toUTCString();
  const removeFault = await context.testbed.slow.fault({
    match: { model: `sim-${SLOW}` },
    times: 1,
    fault: { kind: 'status', status: 429, headers: { 'retry-after': retryAt } },
  });
  const since = performance.now();
  await delay(PAUSE_MS + 2_000);
  await removeFault();
  const failures = load.seen.filter((seen) => seen.sentAt >= since && !isServed(seen));
  const recoveryMs = recoveredAfter(load, since);
  context.report.check(
    `${name}: a supplier that names an instant ${seconds(PAUSE_MS)} away is asked again`,
    `then, and not before`,
    failures.length === 0 ? 'before' : seconds(recoveryMs),
    recoveryMs >= PAUSE_MS - 2_000 && recoveryMs <= PAUSE_MS + 1_000,
  );
}

/** A key expires by the clock that all nodes share: neither an hour late nor an hour early. */
async function checkKeyExpiry(
  { testbed, report }: OutageDrillContext,
  node: GatewayProcess,
  until: (at: number) => Promise<unknown>,
): Promise<void> {
  const [back, forth] = jumps;
  const createKeyExpiringIn = async (milliseconds: number): Promise<Endpoint> => {
    const instant = new Date(Date.now() + milliseconds).toISOString();
    const createdKey = await testbed.createKey(testbed.shared, { name: 'that ends', expires_at: instant });
    return node.endpoint(createdKey.text);
  };
  await until(back.at + 1_000);
  const [soon, later] = [await createKeyExpiringIn(2_000), await createKeyExpiringIn(HOUR_MS / 2)];
  const before = await call(soon, mixedShot(1));
  await until(back.at + 4_000);
  const after = await call(soon, mixedShot(1));
  report.check(
    `${name}: a key that ends while it is an hour back`,
    '200, then 401 expired_api_key',
    tally([before, after]),
    isServed(before) && after.code === 'expired_api_key',
  );
  await until(forth.at + 1_000);
  const early = await call(later, mixedShot(1));
  report.check(
    `${name}: a key with half an hour left while it is an hour ahead`,
    '200',
    tally([early]),
    isServed(early),
  );
}

/** A minute is a minute on any clock: the rate limit neither opens early nor stays closed. */
function checkLimit({ report }: OutageDrillContext, load: Load, startedAt: number): void {
  const served = load.served.map(({ sentAt: at }) => at - startedAt).sort((a, b) => a - b);
  const servedInFirstMinute = served.filter((at) => at < MINUTE_MS).length;
  const firstServedAfter = served.find((at) => at >= MINUTE_MS) ?? Infinity;
  report.check(
    `${name}: calls of a key of ${LIMIT_RPM} a minute in its first minute`,
    `${LIMIT_RPM}`,
    `${servedInFirstMinute}`,
    servedInFirstMinute === LIMIT_RPM,
  );
  report.check(
    `${name}: the same key is served again`,
    `after ${seconds(MINUTE_MS)} to ${seconds(MINUTE_MS + 1_500)}`,
    seconds(firstServedAfter),
    firstServedAfter <= MINUTE_MS + 1_500,
  );
  const refused = load.seen.filter((seen) => !isServed(seen));
  const waits = refused.map(({ retryAfter }) => Number(retryAfter));
  report.check(
    `${name}: what refused callers are told to wait`,
    '1 to 60 s',
    `${Math.min(...waits)} to ${Math.max(...waits)} s`,
    refused.every(({ code }) => code === 'rate_limit_exceeded') &&
      waits.every((wait) => wait >= 1 && wait <= 60),
  );
}

interface DurationRow {
  latency_ms: number;
  first_token_ms: number | null;
  attempts: readonly { readonly milliseconds: number }[] | null;
  apart: number;
  age: number;
}

async function checkDurations(
  { testbed: { books }, report }: OutageDrillContext,
  seen: readonly ObservedCall[],
): Promise<void> {
  const rows = await books.database.query<DurationRow>(
    `SELECT latency_ms, first_token_ms, attempts,
            (extract(epoch FROM settled_at - created_at) * 1000)::float8 AS apart,
            (extract(epoch FROM clock_timestamp() - created_at) * 1000)::float8 AS age
       FROM request_record WHERE request_id = ANY ($1::uuid[])`,
    [idsOf(seen)],
  );
  const durations = rows.flatMap(({ latency_ms: whole, first_token_ms: first, attempts }) => [
    whole,
    ...(first === null ? [] : [first]),
    ...(attempts ?? []).map(({ milliseconds }) => milliseconds),
  ]);
  const [min, max] = [Math.min(...durations), Math.max(...durations)];
  report.check(
    `${name}: durations on record`,
    `0 to ${seconds(MAX_CALL_MS)}`,
    `${durations.length} of them, ${seconds(min)} to ${seconds(max)}`,
    durations.length >= seen.length && min >= 0 && max <= MAX_CALL_MS,
  );
  const [oldest, newest] = [Math.max(...rows.map(({ age }) => age)), Math.min(...rows.map(({ age }) => age))];
  const offsets = rows.map((row) => row.apart);
  report.check(
    `${name}: from the beginning of a call to its settlement`,
    `0 to ${seconds(MAX_CALL_MS)}`,
    `${seconds(Math.min(...offsets))} to ${seconds(Math.max(...offsets))}`,
    // The node knows the database's clock to within some milliseconds.
    Math.min(...offsets) >= -100 && Math.max(...offsets) <= MAX_CALL_MS,
  );
  report.check(
    `${name}: times on record`,
    'within the last two minutes',
    `${seconds(newest)} to ${seconds(oldest)} ago`,
    newest >= 0 && oldest <= 2 * MINUTE_MS,
  );
}
