import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { hotPath } from '../money/engine';
import type { Figure } from './figures';
import type { Stage } from './stage';
import { spreadOf } from './statistics';

/** Holding and settling alone; `npm run bench:money` has more about it. */
export async function measureMoney(stage: Stage): Promise<Figure[]> {
  const folder = join(stage.folder, 'money');
  mkdirSync(folder);
  const [batched] = await hotPath(folder);
  return [
    {
      what: 'CPU of hold + settle + journal',
      unit: 'µs',
      must: 5,
      aim: 1.5,
      measured: spreadOf([batched?.value ?? NaN]),
      note: '16 requests that end in one turn of the loop, as in bench:money',
    },
  ];
}
