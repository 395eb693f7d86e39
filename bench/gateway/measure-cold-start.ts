import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Figure } from './figures';
import { startPortkey } from './peers';
import { interleaved, ratios } from './rounds';
import { built, bundle, type Stage, type Target } from './stage';
import { median, spreadOf } from './statistics';

/** From the start of the process to its first answer, on a database that is there already. */
export async function measureColdStart(stage: Stage, rounds: number, beside: boolean): Promise<Figure[]> {
  const bundled = existsSync(join(built, bundle));
  const start: Record<string, () => Promise<Target>> = {
    plain: () => stage.gateway(),
    ...(bundled ? { bundled: () => stage.gateway([], bundle) } : {}),
    ...(beside ? { portkey: () => startPortkey(stage) } : {}),
  };
  const once = async (name: string): Promise<number> => {
    const { process } = (await start[name]?.()) ?? {};
    await process?.stop();
    return process?.startedInMs ?? NaN;
  };
  const names = Object.keys(start);
  for (const name of names) await once(name);
  const times = await interleaved(names, rounds, once);
  const figures: Figure[] = names.map((name) => ({
    what: `cold start: ${name}`,
    unit: 'ms',
    measured: spreadOf(times[name] ?? []),
  }));
  if (!beside) return figures;
  const best = bundled ? 'bundled' : 'plain';
  const rate = ratios(times[best] ?? [], times['portkey'] ?? []);
  return [
    {
      what: 'cold start × Portkey',
      unit: '×',
      must: 1.3,
      aim: 1,
      measured: spreadOf(rate),
      rounds: rate,
      note: `${best} ${median(times[best] ?? []).toFixed(0)} ms`,
    },
    ...figures,
  ];
}
