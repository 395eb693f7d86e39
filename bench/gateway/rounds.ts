import { Load } from './load';
import { requestBytes } from './caller';
import type { MeasuredProcess } from './measured-process';
import type { Target } from './testbed';

export interface Rounds {
  readonly count: number;
  readonly milliseconds: number;
}

/** Measures the targets alternately, round by round, so that a disturbance affects all of them equally. */
export async function interleaved<Name extends string>(
  names: readonly Name[],
  rounds: number,
  measure: (name: Name) => Promise<number>,
): Promise<Record<Name, number[]>> {
  const values = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) values[name].push(await measure(name));
  }
  return values;
}

/** Ratios of corresponding rounds. */
export const ratios = (above: readonly number[], below: readonly number[]): number[] =>
  above.map((value, round) => value / (below[round] ?? NaN));

/** Ratios of consecutive rounds of one process; 1 on a quiet machine. */
export const noise = (values: readonly number[]): number[] => ratios(values.slice(1), values);

/** CPU time per unit counted by `work`, including deferred work of the process. */
export async function cpuPer(process: MeasuredProcess, work: () => Promise<number>): Promise<number> {
  await process.quiet();
  const before = process.cpuUs();
  const count = await work();
  await process.quiet();
  return (process.cpuUs() - before) / count;
}

const WARM_UP_MS = 150;

/** Opens all connections and uses each once before the clock starts. */
export async function withLoad<T>(
  target: Target,
  connections: number,
  body: object,
  work: (load: Load, request: Buffer) => Promise<T>,
  warmUp: (load: Load, request: Buffer) => Promise<unknown> = (load, request) =>
    load.runClosedLoop(request, WARM_UP_MS),
): Promise<T> {
  const load = await Load.open(target.process.port, connections);
  try {
    const request = requestBytes({ path: '/v1/chat/completions', headers: target.headers, body });
    await warmUp(load, request);
    return await work(load, request);
  } finally {
    target.process.responseCount += load.responseCount;
    load.close();
  }
}

/** Runs until the JIT has compiled the request path; before that, a process is several times slower. */
export async function warm(target: Target, body: object, milliseconds: number): Promise<void> {
  await withLoad(target, 32, body, (load, request) => load.runClosedLoop(request, milliseconds));
}
