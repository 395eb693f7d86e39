import fc from 'fast-check';
import {
  driftLevel,
  failureChance,
  noDrift,
  noPacing,
  noteSignal,
  noteFamiliarity,
  pace,
  projectedSpend,
  type Reliability,
  tuningOf,
} from '../../../src/autorouter/engine';

const DAY_MS = 86_400_000;

describe('Cost–quality dial', () => {
  test('maps to the documented values and interpolates between them', () => {
    expect([0, 2, 4, 5, 7, 10].map((dial) => tuningOf(dial).kappa)).toEqual([0, 0.01, 0.03, 0.06, 0.1, 0.2]);
    expect(tuningOf(6).kappa).toBeCloseTo(0.08, 12);
    expect(tuningOf(6).z).toBeCloseTo(0.45, 12);
    expect(tuningOf(9.9).novelty).toBe('p25');
    expect(tuningOf(4)).toMatchObject({ z: 0.6, novelty: 'p25' });
    expect(tuningOf(5)).toMatchObject({ z: 0.3, novelty: 'p25' });
    expect(tuningOf(10)).toMatchObject({ z: 0, novelty: 'off' });
    expect([tuningOf(-1), tuningOf(11)]).toEqual([tuningOf(0), tuningOf(10)]);
  });
});

describe('Drift detection', () => {
  const driftAfter = (unfamiliar: number, familiar: number, drift = noDrift()) => {
    for (let index = 0; index < unfamiliar; index += 1) noteFamiliarity(drift, true);
    for (let index = 0; index < familiar; index += 1) noteFamiliarity(drift, false);
    return drift;
  };

  test('is raised above 40 % unfamiliar of the last 500 requests and forces the default model above 50 %', () => {
    expect(driftLevel(driftAfter(99, 0))).toBe('calm');
    expect(driftLevel(driftAfter(40, 60))).toBe('calm');
    expect(driftLevel(driftAfter(41, 59))).toBe('raised');
    expect(driftLevel(driftAfter(50, 50))).toBe('raised');
    expect(driftLevel(driftAfter(51, 49))).toBe('reference');
  });

  test('clears after 500 familiar requests', () => {
    const raisedDrift = driftAfter(500, 240);
    expect(driftLevel(raisedDrift)).toBe('reference');
    expect(driftLevel(driftAfter(0, 60, raisedDrift))).toBe('calm');
    expect(driftLevel(driftAfter(0, 500, raisedDrift))).toBe('calm');
    expect(raisedDrift.sum).toBe(0);
  });
});

describe('Model reliability', () => {
  const badOutcome = { failed: 1, answered: 0 };
  const goodOutcome = { failed: 0, answered: 1 };

  test('falls with bad responses and recovers an hour later', () => {
    const reliability: Reliability = new Map();
    const before = failureChance([reliability], 'model', 0);
    for (let call = 0; call < 5; call += 1) noteSignal(reliability, 'model', badOutcome, 0);
    expect(failureChance([reliability], 'model', 0)).toBeGreaterThan(0.45);
    expect(failureChance([reliability], 'other', 0)).toBe(before);
    expect(failureChance([reliability], 'model', 10 * 60_000)).toBeLessThan(
      failureChance([reliability], 'model', 0),
    );
    expect(failureChance([reliability], 'model', 3_600_000)).toBeLessThan(before + 0.02);
  });

  test('barely changes for one bad response among many', () => {
    const reliability: Reliability = new Map();
    for (let call = 0; call < 99; call += 1) noteSignal(reliability, 'model', goodOutcome, 0);
    noteSignal(reliability, 'model', badOutcome, 0);
    expect(failureChance([reliability], 'model', 0)).toBeLessThan(0.02);
  });
});

describe('Budget pacing', () => {
  test('raises kappa while spending is too high, more over time, and lowers it afterwards', () => {
    let pacing = noPacing(0);
    const day = (projected: number): number => {
      pacing = pace(pacing, { projected, budget: 100, now: pacing.at + DAY_MS });
      return pacing.raise;
    };
    expect(day(80)).toBe(0);
    const [first, second] = [day(150), day(150)];
    expect(first).toBeGreaterThan(0);
    expect(second).toBeGreaterThan(first);
    for (let further = 0; further < 60; further += 1) expect(day(1_000)).toBeLessThanOrEqual(0.5);
    for (let further = 0; further < 12; further += 1) day(20);
    expect(pacing.raise).toBe(0);
  });

  test('kappa rises with spending and never leaves its bounds', () => {
    const money = fc.double({ min: 0, max: 1e6, noNaN: true });
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(
        money,
        money,
        share,
        fc.double({ min: 0, max: 5, noNaN: true }),
        (one, other, at, overspent) => {
          const period = { startedAt: 0, endsAt: 30 * DAY_MS, now: at * 30 * DAY_MS };
          const raiseAt = (spent: number): number => {
            const projected = projectedSpend(spent, period);
            expect(projected).toBeGreaterThanOrEqual(spent);
            const previousPacing = { overspent, at: period.now - DAY_MS / 24, raise: 0 };
            return pace(previousPacing, { projected, budget: 1_000, now: period.now }).raise;
          };
          const [less, more] = [raiseAt(Math.min(one, other)), raiseAt(Math.max(one, other))];
          expect(less).toBeGreaterThanOrEqual(0);
          expect(more).toBeGreaterThanOrEqual(less);
          expect(more).toBeLessThanOrEqual(0.5);
        },
      ),
    );
  });

  test('projects the pace of the period so far and weighs an early burst at a tenth of the period', () => {
    const period = { startedAt: 0, endsAt: 100 };
    expect(projectedSpend(30, { ...period, now: 50 })).toBe(60);
    expect(projectedSpend(30, { ...period, now: 100 })).toBe(30);
    expect(projectedSpend(1, { ...period, now: 0 })).toBe(11);
  });

  test('raises kappa to the maximum when no budget is left', () => {
    expect(pace(noPacing(0), { projected: 1, budget: 0, now: DAY_MS }).raise).toBe(0.5);
  });
});
