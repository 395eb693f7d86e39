import { Load } from './load';
import { requestBytes } from './caller';
import type { MeasuredProcess } from './measured-process';
import type { Target } from './testbed';

export interface Rounds {
  readonly count: number;
  readonly milliseconds: number;
}

/** Measures the targets in turn, round after round, so that a disturbance of the machine affects all of them alike. */
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

/** Round by round. */
export const ratios = (above: readonly number[], below: readonly number[]): number[] =>
  above.map((value, round) => value / (below[round] ?? NaN));

/** Two rounds of the same process differ by this: nothing, on a quiet machine. */
export const noise = (values: readonly number[]): number[] => ratios(values.slice(1), values);

/** CPU time for one of what `work` counts, with all that the process does about it afterwards. */
export async function cpuPer(process: MeasuredProcess, work: () => Promise<number>): Promise<number> {
  await process.quiet();
  const before = process.cpuUs();
  const count = await work();
  await process.quiet();
  return (process.cpuUs() - before) / count;
}

const WARM_UP_MS = 150;

/** Connections are opened and used once before the clock starts. */
export async function withLoad<T>(
  target: Target,
  connections: number,
  body: object,
  work: (load: Load, request: Buffer) => Promise<T>,
  warmUp: (load: Load, request: Buffer) => Promise<unknown> = (load, request) =>
    load.closed(request, WARM_UP_MS),
): Promise<T> {
  const load = await Load.open(target.process.port, connections);
  try {
    const request = requestBytes({ path: '/v1/chat/completions', headers: target.headers, body });
    await warmUp(load, request);
    return await work(load, request);
  } finally {
    target.process.answers += load.answers;
    load.close();
  }
}

/** Until the engine has compiled what a request runs through; before that, a process costs several times as much. */
export async function warm(target: Target, body: object, milliseconds: number): Promise<void> {
  await withLoad(target, 32, body, (load, request) => load.closed(request, milliseconds));
}
