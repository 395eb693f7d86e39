import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { longStream, mixed, plain, SLOW } from '../catalogue';
import { checkAnswers, checkBooks, checkHolds, checkSurprises } from '../checks';
import type { GatewayNode } from '../testbed';
import { call, type Endpoint, idsOf, isServed, Load, recoveredAfter, type Seen, tally, times } from '../load';
import { seconds, spread } from '../report';
import type { Drill, DrillContext } from '../drill';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const CALLS_A_SECOND = 40;
const OTHERS_A_SECOND = 5;
const STREAMS = 10;
const LIMIT_RPM = 30;
/** A lane that is alone is tried once a second, and callers come five times a second. */
const LANE_BACK_MS = 2_500;
const PAUSE_MS = 3_000;
/** No call of this drill takes longer, however busy the machine is. */
const LONGEST_MS = 20_000;
const name = 'Clock of a node an hour off';

/** When, in milliseconds from the start, and how far the clock is off from then on: back, forth, and right again. */
const jumps = [
  { at: 6_000, shift: -HOUR_MS },
  { at: 22_000, shift: HOUR_MS },
  { at: 38_000, shift: 0 },
] as const;

/** The wall clock of a process is set while it serves; the database's clock, which nodes agree on, is not. */
export const clockJump: Drill = {
  name: 'clock-jump',
  alerts: ['ClockWrong'],
  async run(context) {
    const { testbed } = context;
    const file = join(testbed.postgres.folder, 'clock-shift');
    writeFileSync(file, '0');
    const preload = 'proofs/outages/shifted-clock.js';
    const node = await testbed.node('clock', { preload, environment: { CLOCK_SHIFT_FILE: file } });
    const set = async (shift: number): Promise<void> => {
      writeFileSync(file, String(shift));
      node.program.signal('SIGUSR2');
      await node.program.find(new RegExp(`shifted by ${shift} ms`));
    };
    await withJumps(context, node, set);
    await node.stop();
  },
};

interface Callers {
  readonly usual: Load;
  /** Ten times as often as their key may call. */
  readonly limited: Load;
  /** Of a supplier that is down around every jump. */
  readonly slow: Load;
}

async function withJumps(
  context: DrillContext,
  node: GatewayNode,
  set: (shift: number) => Promise<void>,
): Promise<void> {
  const { testbed, report } = context;
  const key = await testbed.makeKey(testbed.shared, {
    name: 'of a jumping clock',
    rate_limit_rpm: LIMIT_RPM,
  });
  const startedAt = performance.now();
  const endpoint = node.endpoint(testbed.key);
  const callers: Callers = {
    usual: new Load([endpoint], mixed).start(CALLS_A_SECOND),
    limited: new Load([node.endpoint(key.text)], (place) => plain('chatty', place)).start(OTHERS_A_SECOND),
    slow: new Load([endpoint], (place) => plain(SLOW, place)).start(OTHERS_A_SECOND),
  };
  const until = (at: number): Promise<unknown> => delay(Math.max(0, startedAt + at - performance.now()));
  const ends = checkEnds(context, node, until);
  const streams: Seen[] = [];
  for (const { at, shift } of jumps) {
    await until(at - 2_000);
    const open = Array.from({ length: STREAMS }, (_, place) => call(endpoint, longStream(place, 4)));
    const mend = await testbed.slow.fault({
      match: { model: `sim-${SLOW}` },
      fault: { kind: 'status', status: 503 },
    });
    await until(at);
    await set(shift);
    await delay(1_000);
    await mend();
    const mendedAt = performance.now();
    await checkLane(context, callers.slow, mendedAt, `after ${nameOf(shift)}, a lane that was down is back`);
    if (shift < 0) await checkPause(context, callers.slow);
    streams.push(...(await Promise.all(open)));
  }
  await ends;
  await until(MINUTE_MS + 5_000);
  const all = Object.values(callers) as Load[];
  await Promise.all(all.map((load) => load.stop()));

  checkAnswers(context, name, callers.usual.seen, []);
  checkAnswers(context, `${name}: streams open when it jumped`, streams, []);
  checkLimit(context, callers.limited, startedAt);
  const seen = [...all.flatMap((load) => load.served), ...streams.filter(isServed)];
  const lost = await checkBooks(context, name, seen);
  await checkDurations(context, seen);
  const held = await checkHolds(context, name, node);
  checkSurprises(context, name, node);
  report.row({
    outage: `${name}, back, forth and right again, at ${CALLS_A_SECOND}/s`,
    answers: tally([...callers.usual.seen, ...streams]),
    time: spread(times(callers.usual.seen)),
    lost,
    recovery: `nothing to recover; money held: ${held}`,
  });
}

const nameOf = (shift: number): string => (shift === 0 ? 'the right time' : `${shift > 0 ? '+' : '−'}1 h`);

async function checkLane({ report }: DrillContext, load: Load, since: number, what: string): Promise<void> {
  await delay(LANE_BACK_MS + 500);
  const took = recoveredAfter(load, since);
  report.check(`${name}: ${what}`, `within ${seconds(LANE_BACK_MS)}`, seconds(took), took <= LANE_BACK_MS);
}

/** A supplier says at what instant of its clock it wants to be asked again: that is no hour away. */
async function checkPause(context: DrillContext, load: Load): Promise<void> {
  const back = new Date(Date.now() + PAUSE_MS).toUTCString();
  const lift = await context.testbed.slow.fault({
    match: { model: `sim-${SLOW}` },
    times: 1,
    fault: { kind: 'status', status: 429, headers: { 'retry-after': back } },
  });
  const since = performance.now();
  await delay(PAUSE_MS + 2_000);
  await lift();
  const failed = load.seen.filter((seen) => seen.at >= since && !isServed(seen));
  const took = recoveredAfter(load, since);
  context.report.check(
    `${name}: a supplier that names an instant ${seconds(PAUSE_MS)} away is asked again`,
    `then, and not before`,
    failed.length === 0 ? 'before' : seconds(took),
    took >= PAUSE_MS - 2_000 && took <= PAUSE_MS + 1_000,
  );
}

/** A key ends when it ends, by the clock that all nodes share: not an hour later, and not an hour before. */
async function checkEnds(
  { testbed, report }: DrillContext,
  node: GatewayNode,
  until: (at: number) => Promise<unknown>,
): Promise<void> {
  const [back, forth] = jumps;
  const endsIn = async (milliseconds: number): Promise<Endpoint> => {
    const instant = new Date(Date.now() + milliseconds).toISOString();
    const made = await testbed.makeKey(testbed.shared, { name: 'that ends', expires_at: instant });
    return node.endpoint(made.text);
  };
  await until(back.at + 1_000);
  const [soon, later] = [await endsIn(2_000), await endsIn(HOUR_MS / 2)];
  const before = await call(soon, mixed(1));
  await until(back.at + 4_000);
  const after = await call(soon, mixed(1));
  report.check(
    `${name}: a key that ends while it is an hour back`,
    '200, then 401 expired_api_key',
    tally([before, after]),
    isServed(before) && after.code === 'expired_api_key',
  );
  await until(forth.at + 1_000);
  const early = await call(later, mixed(1));
  report.check(
    `${name}: a key with half an hour left while it is an hour ahead`,
    '200',
    tally([early]),
    isServed(early),
  );
}

/** A minute is a minute under any clock: the rate limit neither opens early nor stays shut. */
function checkLimit({ report }: DrillContext, load: Load, startedAt: number): void {
  const served = load.served.map(({ at }) => at - startedAt).sort((a, b) => a - b);
  const first = served.filter((at) => at < MINUTE_MS).length;
  const again = served.find((at) => at >= MINUTE_MS) ?? Infinity;
  report.check(
    `${name}: calls of a key of ${LIMIT_RPM} a minute in its first minute`,
    `${LIMIT_RPM}`,
    `${first}`,
    first === LIMIT_RPM,
  );
  report.check(
    `${name}: the same key is served again`,
    `after ${seconds(MINUTE_MS)} to ${seconds(MINUTE_MS + 1_500)}`,
    seconds(again),
    again <= MINUTE_MS + 1_500,
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

interface Durations {
  latency_ms: number;
  first_token_ms: number | null;
  attempts: readonly { readonly milliseconds: number }[] | null;
  apart: number;
  age: number;
}

async function checkDurations(
  { testbed: { books }, report }: DrillContext,
  seen: readonly Seen[],
): Promise<void> {
  const rows = await books.database.query<Durations>(
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
  const [least, most] = [Math.min(...durations), Math.max(...durations)];
  report.check(
    `${name}: durations on record`,
    `0 to ${seconds(LONGEST_MS)}`,
    `${durations.length} of them, ${seconds(least)} to ${seconds(most)}`,
    durations.length >= seen.length && least >= 0 && most <= LONGEST_MS,
  );
  const [oldest, newest] = [Math.max(...rows.map(({ age }) => age)), Math.min(...rows.map(({ age }) => age))];
  const apart = rows.map((row) => row.apart);
  report.check(
    `${name}: from the beginning of a call to its settlement`,
    `0 to ${seconds(LONGEST_MS)}`,
    `${seconds(Math.min(...apart))} to ${seconds(Math.max(...apart))}`,
    // The node knows the clock of the database to some milliseconds.
    Math.min(...apart) >= -100 && Math.max(...apart) <= LONGEST_MS,
  );
  report.check(
    `${name}: times on record`,
    'within the last two minutes',
    `${seconds(newest)} to ${seconds(oldest)} ago`,
    newest >= 0 && oldest <= 2 * MINUTE_MS,
  );
}
