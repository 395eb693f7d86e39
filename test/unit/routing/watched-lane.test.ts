import { fault } from '../../../src/kernel';
import { defaultBreakerOptions } from '../../../src/routing/health/breaker';
import { LaneEvents } from '../../../src/routing/health/lane-events';
import type { LaneFailure } from '../../../src/routing/health/lane-types';
import { LanePermit } from '../../../src/routing/health/lane-permit';
import { WatchedLane } from '../../../src/routing/health/watched-lane';
import { Logger } from '../../../src/platform';

const requestFailure: LaneFailure = {
  problem: fault('provider_unavailable'),
  status: 404,
  isCallerMayBeCause: true,
  owner: 'key 1',
  milliseconds: 10,
};
const laneFailure: LaneFailure = {
  problem: fault('upstream_unavailable', {
    cause: Object.assign(new Error('certificate has expired'), { code: 'CERT_HAS_EXPIRED' }),
  }),
  status: null,
  isCallerMayBeCause: false,
  owner: 'key 1',
  milliseconds: 10,
};

describe('Failures attributed to a lane', () => {
  const log: Record<string, unknown>[] = [];
  const events = new LaneEvents(
    Logger.create(
      { logLevel: 'info', logFormat: 'json' },
      { write: (line: string) => log.push(JSON.parse(line) as Record<string, unknown>) },
    ),
  );
  const createLane = (): WatchedLane =>
    new WatchedLane({ supplier: 'supplier', model: 'model', region: 'eu' }, defaultBreakerOptions);
  const fail = (lane: WatchedLane, key: number, times: number, failure: LaneFailure, now = 0): void => {
    const ownedFailure = { ...failure, owner: `key ${key}` };
    for (let call = 0; call < times; call += 1)
      (
        LanePermit.take(lane, key, now, false, events) ?? LanePermit.take(lane, key, now, true, events)
      )?.failed(now, ownedFailure);
  };
  beforeEach(() => log.splice(0));

  test('bad requests of a key open the lane for that key only, regardless of their number', () => {
    const lane = createLane();
    for (let second = 0; second < 600; second += 1) fail(lane, 1, 10, requestFailure, second * 1_000);
    expect(lane.stateFor(1, 599_000)).toBe('open');
    expect(lane.stateFor(2, 599_000)).toBe('closed');
    expect(lane.breaker.isClosed).toBe(true);
    expect(log).toHaveLength(1);
    expect(log[0]).toMatchObject({ level: 'info', key_id: 1, provider: 'supplier', status: 404 });
  });

  // "2,002 log lines of one flapping lane"
  test('lane that opens and closes 1,001 times in a minute logs ten lines and a last one with its state', () => {
    jest.useFakeTimers();
    try {
      const route = { supplier: 'supplier', model: 'model', region: 'eu' };
      for (let time = 0; time < 1_001; time += 1) {
        events.opened(route, time, laneFailure);
        events.closed(route, time);
      }
      events.opened(route, 1_001, laneFailure);
      expect(log).toHaveLength(10);
      jest.advanceTimersByTime(60_000);
      expect(log).toHaveLength(11);
      expect(log.at(-1)).toMatchObject({
        msg: expect.stringContaining('lane opened') as string,
        lines_left_out: 1_992,
      });
      jest.advanceTimersByTime(60_000);
      events.closed(route, 120_000);
      expect(log).toHaveLength(12);
    } finally {
      jest.useRealTimers();
    }
  });

  test('failures of five keys open the lane for everyone', () => {
    const lane = createLane();
    for (const key of [1, 2, 3, 4]) fail(lane, key, 1, requestFailure);
    expect(lane.stateFor(9, 0)).toBe('closed');
    fail(lane, 5, 1, requestFailure);
    expect(lane.stateFor(9, 0)).toBe('open');
  });

  test('failures of five keys of an organisation count once for the lane and open it for those keys only', () => {
    const lane = createLane();
    const organisationFailure: LaneFailure = { ...requestFailure, owner: 'organisation 7' };
    for (const key of [1, 2, 3, 4, 5, 6])
      for (let call = 0; call < 5; call += 1)
        LanePermit.take(lane, key, 0, false, events)?.failed(0, organisationFailure);
    expect([1, 6, 9].map((key) => lane.stateFor(key, 0))).toEqual(['open', 'open', 'closed']);
    for (const key of [11, 12, 13]) fail(lane, key, 1, requestFailure);
    expect(lane.stateFor(9, 0)).toBe('closed');
    fail(lane, 14, 1, requestFailure);
    expect(lane.stateFor(9, 0)).toBe('open');
  });

  test('queued request is overtaken when the lane opens for its key', () => {
    const lane = createLane();
    const permits = [1, 2].map((key) => LanePermit.take(lane, key, 0, false, events)!);
    fail(lane, 1, 5, requestFailure);
    const probe = LanePermit.take(lane, 1, 6_500, false, events)!;
    expect([...permits, probe].map((permit) => permit.isOutdated(6_500))).toEqual([true, false, false]);
  });

  test('response to any key resets the count, and closes the breaker of its own key', () => {
    const lane = createLane();
    for (const key of [1, 2, 3, 4]) fail(lane, key, 1, requestFailure);
    fail(lane, 1, 4, requestFailure);
    expect(lane.stateFor(1, 0)).toBe('open');
    const probe = LanePermit.take(lane, 1, 6_500, false, events)!;
    probe.responseStarted(6_500);
    probe.succeeded(6_500);
    expect(lane.stateFor(1, 6_500)).toBe('closed');
    expect(lane.keyBreakers.has(1)).toBe(false);
    for (const key of [2, 3, 4, 5]) fail(lane, key, 1, requestFailure, 6_600);
    expect(lane.stateFor(9, 6_600)).toBe('closed');
  });

  test('five connection failures of a key open the lane for everyone, and opening and closing are logged', () => {
    const lane = createLane();
    fail(lane, 1, 5, laneFailure);
    expect(lane.stateFor(2, 0)).toBe('open');
    const probe = LanePermit.take(lane, 2, 7_000, false, events)!;
    probe.responseStarted(7_000);
    expect(lane.stateFor(1, 7_000)).toBe('closed');
    expect(log).toMatchObject([
      {
        level: 'warn',
        msg: expect.stringContaining('lane opened') as string,
        code: 'upstream_unavailable',
        cause: 'CERT_HAS_EXPIRED: certificate has expired',
        provider: 'supplier',
        model: 'model',
        region: 'eu',
      },
      { level: 'warn', msg: expect.stringContaining('lane closed') as string, open_seconds: 7 },
    ]);
  });
});
