import { type Findings, numberGiven } from '../../test/system/findings';
import { isServed, type Load, tally, times } from '../outages/load';
import { milliseconds, percentile, seconds } from '../outages/report';
import { fill } from './fill';
import type { House } from './house';

/** Of the 95th percentile of the time to answer. */
const MOST_RISE = 1.2;
/** Of the event loop of the service. */
const MOST_DELAY_MS = 5;
/** Of the processor time of the service: the work of a backup is not in it. */
const MOST_CPU = 1.1;

/** One stretch of a load. */
interface Stretch {
  readonly load: Load;
  readonly ms: number;
  /** 99 of 100 turns of the event loop of the service came by so much late. */
  readonly loopMs: number;
  /** Processor time of the service for a call, whatever else the machine has to do. */
  readonly cpuMs: number;
}

/**
 * The same load while the service takes a backup by itself, and as long without one, in turns, so that both see the same
 * machine. `--megabytes 2000 --rate 300` makes a database of this size, and so many calls a second; `--rounds` says how
 * often.
 */
export async function pace(house: House, findings: Findings): Promise<void> {
  const [megabytes, rate] = [numberGiven('megabytes', 200), numberGiven('rate', 40)];
  await house.startScheduled();
  await fill(house, megabytes);
  const during: Stretch[] = [];
  const without: Stretch[] = [];
  for (let round = 0; round < numberGiven('rounds', 4); round += 1) {
    const backup = await stretch(house, rate, () => house.scheduledBackup());
    during.push(backup);
    without.push(await stretch(house, rate, undefined, backup.ms));
  }
  judge(findings, `${megabytes} MB, ${rate} calls a second`, during, without);
}

async function stretch(
  house: House,
  rate: number,
  meanwhile?: () => Promise<void>,
  ms = 0,
): Promise<Stretch> {
  // To look at the delay begins a new count.
  await house.gauge(LOOP);
  const cpuBefore = await house.gauge(CPU);
  const startedAt = performance.now();
  const load = await house.busy(ms, meanwhile, rate);
  const took = performance.now() - startedAt;
  const loopMs = (await house.gauge(LOOP)) * 1_000;
  const cpuMs = (((await house.gauge(CPU)) - cpuBefore) * 1_000) / load.seen.length;
  return { load, ms: took, loopMs, cpuMs };
}

const LOOP = 'nodejs_eventloop_lag_p99_seconds';
const CPU = 'process_cpu_seconds_total';

function judge(
  findings: Findings,
  circumstances: string,
  during: readonly Stretch[],
  without: readonly Stretch[],
): void {
  const p95 = (all: readonly Stretch[]): number =>
    percentile(
      all.flatMap(({ load }) => times(load.served)),
      0.95,
    );
  const middle = (all: readonly Stretch[], name: 'loopMs' | 'cpuMs'): number =>
    percentile(
      all.map((each) => each[name]),
      0.5,
    );
  const seen = during.flatMap(({ load }) => load.seen);
  const wrong = seen.filter((each) => !isServed(each)).length;
  const length = seconds(during.reduce((sum, { ms }) => sum + ms, 0) / during.length);
  findings.over(
    `calls during ${during.length} backups of ${length} (${circumstances})`,
    seen.length,
    wrong,
    tally(seen),
  );
  const [there, usual] = [p95(during), p95(without)];
  findings.check(
    'time to answer during backups, p95',
    `at most ${MOST_RISE} × of that without`,
    `${milliseconds(there)} beside ${milliseconds(usual)}: ${(there / usual).toFixed(2)} ×`,
    there <= MOST_RISE * usual,
  );
  const [late, usuallyLate] = [middle(during, 'loopMs'), middle(without, 'loopMs')];
  findings.check(
    'event loop of the service during backups, p99',
    `at most ${MOST_DELAY_MS} ms later than without`,
    `${milliseconds(late)} beside ${milliseconds(usuallyLate)}`,
    late <= usuallyLate + MOST_DELAY_MS,
  );
  const [cpu, usualCpu] = [middle(during, 'cpuMs'), middle(without, 'cpuMs')];
  findings.check(
    'processor time of the service for a call during backups',
    `at most ${MOST_CPU} × of that without`,
    `${cpu.toFixed(2)} ms beside ${usualCpu.toFixed(2)} ms: ${(cpu / usualCpu).toFixed(2)} ×`,
    cpu <= MOST_CPU * usualCpu,
  );
}
