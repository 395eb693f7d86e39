import type { Figure } from './figures';
import { startPortkey } from './peers';
import { interleaved, ratios } from './rounds';
import type { Testbed, Target } from './testbed';
import { median, spreadOf } from './statistics';

/** From the start of the process to its first answer, on a database that is there already. */
export async function measureColdStart(testbed: Testbed, rounds: number, beside: boolean): Promise<Figure[]> {
  const start: Record<string, () => Promise<Target>> = {
    gateway: () => testbed.gateway(),
    ...(beside ? { portkey: () => startPortkey(testbed) } : {}),
  };
  const once = async (name: string): Promise<number> => {
    const { process } = (await start[name]?.()) ?? {};
    await process?.stop();
    return process?.startedInMs ?? NaN;
  };
  const names = Object.keys(start);
  for (const name of names) await once(name);
  const times = await interleaved(names, rounds, once);
  const { gateway = [], portkey = [] } = times;
  const own: Figure = {
    what: 'start of the artefact, database up to date',
    unit: 'ms',
    must: 1_200,
    measured: spreadOf(gateway),
    rounds: gateway,
  };
  if (!beside) return [own];
  const rate = ratios(gateway, portkey);
  const note = `Portkey ${median(portkey).toFixed(0)} ms`;
  return [own, { what: 'start × Portkey', unit: '×', measured: spreadOf(rate), rounds: rate, note }];
}
