import type { Figure } from './figures';
import { startPortkey } from './peers';
import { interleaved, ratios } from './rounds';
import type { Stage, Target } from './stage';
import { median, spreadOf } from './statistics';

/** From the start of the process to its first answer, on a database that is there already. */
export async function measureColdStart(stage: Stage, rounds: number, beside: boolean): Promise<Figure[]> {
  const start: Record<string, () => Promise<Target>> = {
    bundled: () => stage.gateway('served'),
    plain: () => stage.gateway('started'),
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
  const { bundled = [], portkey = [] } = times;
  const rate = ratios(bundled, portkey);
  return [
    {
      what: 'cold start × Portkey',
      unit: '×',
      must: 1.3,
      aim: 1,
      measured: spreadOf(rate),
      rounds: rate,
      note: `bundled ${median(bundled).toFixed(0)} ms`,
    },
    ...figures,
  ];
}
