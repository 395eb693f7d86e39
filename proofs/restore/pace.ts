import type { Findings } from '../../test/system/findings';
import { isServed, type Load, tally, times } from '../outages/load';
import { milliseconds, percentile } from '../outages/report';
import type { House } from './house';

const ROUNDS = 6;
const ROUND_MS = 12_000;
const CALLS_A_SECOND = 40;
/** Of the 95th percentile of the time to answer. */
const MOST_RISE = 1.2;

/** The same load with and without a backup, in turns, so that both see the same machine. */
export async function pace(house: House, findings: Findings): Promise<void> {
  const without: Load[] = [];
  const during: Load[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    without.push(await house.busy(ROUND_MS, () => Promise.resolve(), CALLS_A_SECOND));
    during.push(await house.busy(ROUND_MS, () => backUpFor(house, ROUND_MS), CALLS_A_SECOND));
  }
  const p95 = (loads: readonly Load[]): number =>
    percentile(
      loads.flatMap((load) => times(load.served)),
      0.95,
    );
  const rise = p95(during) / p95(without);
  const seen = during.flatMap((load) => load.seen);
  const wrong = seen.filter((each) => !isServed(each)).length;
  findings.over('calls during backups', seen.length, wrong, tally(seen));
  findings.check(
    'time to answer during backups, p95',
    `at most ${MOST_RISE} × of that without`,
    `${milliseconds(p95(during))} beside ${milliseconds(p95(without))}: ${rise.toFixed(2)} ×`,
    rise <= MOST_RISE,
  );
}

/** One backup after the other, as a database that is larger than this one takes longer. */
async function backUpFor(house: House, forMs: number): Promise<void> {
  const until = performance.now() + forMs;
  while (performance.now() < until - 3_000) await house.backUp();
}
