import { type Findings, numberOption } from '../../test/system/findings';
import { isServed, type Load, tally, times } from '../outages/load';
import { milliseconds, percentile, seconds } from '../outages/report';
import { fill } from './fill';
import type { RestoreFixture } from './restore-fixture';

/** Maximum ratio of the 95th percentile latency. */
const MAX_LATENCY_RATIO = 1.2;
/** Maximum event-loop delay of the service. */
const MAX_LOOP_DELAY_MS = 5;
/** Maximum ratio of the service's CPU time, which excludes the backup's work. */
const MAX_CPU_RATIO = 1.1;

/** A measured interval of a load. */
interface LoadInterval {
  readonly load: Load;
  readonly ms: number;
  /** 99th percentile of the service's event-loop lag. */
  readonly loopMs: number;
  /** CPU time of the service per call, independent of other load. */
  readonly cpuMs: number;
}

/**
 * Alternates the same load with and without a scheduled backup, so that both see the same machine. `--megabytes 2000
 * --rate 300` sets the database size and the calls per second; `--rounds` the repetitions.
 */
export async function proveOverhead(fixture: RestoreFixture, findings: Findings): Promise<void> {
  const [megabytes, rate] = [numberOption('megabytes', 200), numberOption('rate', 40)];
  await fixture.startScheduled();
  await fill(fixture, megabytes);
  const withBackup: LoadInterval[] = [];
  const withoutBackup: LoadInterval[] = [];
  for (let round = 0; round < numberOption('rounds', 4); round += 1) {
    const backup = await measureInterval(fixture, rate, () => fixture.scheduledBackup());
    withBackup.push(backup);
    withoutBackup.push(await measureInterval(fixture, rate, undefined, backup.ms));
  }
  judge(findings, `${megabytes} MB, ${rate} calls a second`, withBackup, withoutBackup);
}

async function measureInterval(
  fixture: RestoreFixture,
  rate: number,
  meanwhile?: () => Promise<void>,
  ms = 0,
): Promise<LoadInterval> {
  // Reading the gauge resets it.
  await fixture.gauge(LOOP);
  const cpuBefore = await fixture.gauge(CPU);
  const startedAt = performance.now();
  const load = await fixture.runLoad(ms, meanwhile, rate);
  const durationMs = performance.now() - startedAt;
  const loopMs = (await fixture.gauge(LOOP)) * 1_000;
  const cpuMs = (((await fixture.gauge(CPU)) - cpuBefore) * 1_000) / load.seen.length;
  return { load, ms: durationMs, loopMs, cpuMs };
}

const LOOP = 'nodejs_eventloop_lag_p99_seconds';
const CPU = 'process_cpu_seconds_total';

function judge(
  findings: Findings,
  circumstances: string,
  during: readonly LoadInterval[],
  without: readonly LoadInterval[],
): void {
  const p95 = (all: readonly LoadInterval[]): number =>
    percentile(
      all.flatMap(({ load }) => times(load.served)),
      0.95,
    );
  const medianOf = (all: readonly LoadInterval[], name: 'loopMs' | 'cpuMs'): number =>
    percentile(
      all.map((each) => each[name]),
      0.5,
    );
  const seen = during.flatMap(({ load }) => load.seen);
  const refusedCount = seen.filter((each) => !isServed(each)).length;
  const length = seconds(during.reduce((sum, { ms }) => sum + ms, 0) / during.length);
  findings.expectNoneWrong(
    `calls during ${during.length} backups of ${length} (${circumstances})`,
    seen.length,
    refusedCount,
    tally(seen),
  );
  const [there, usual] = [p95(during), p95(without)];
  findings.check(
    'time to answer during backups, p95',
    `at most ${MAX_LATENCY_RATIO} × of that without`,
    `${milliseconds(there)} beside ${milliseconds(usual)}: ${(there / usual).toFixed(2)} ×`,
    there <= MAX_LATENCY_RATIO * usual,
  );
  const [late, usuallyLate] = [medianOf(during, 'loopMs'), medianOf(without, 'loopMs')];
  findings.check(
    'event loop of the service during backups, p99',
    `at most ${MAX_LOOP_DELAY_MS} ms later than without`,
    `${milliseconds(late)} beside ${milliseconds(usuallyLate)}`,
    late <= usuallyLate + MAX_LOOP_DELAY_MS,
  );
  const [cpu, usualCpu] = [medianOf(during, 'cpuMs'), medianOf(without, 'cpuMs')];
  findings.check(
    'processor time of the service for a call during backups',
    `at most ${MAX_CPU_RATIO} × of that without`,
    `${cpu.toFixed(2)} ms beside ${usualCpu.toFixed(2)} ms: ${(cpu / usualCpu).toFixed(2)} ×`,
    cpu <= MAX_CPU_RATIO * usualCpu,
  );
}
