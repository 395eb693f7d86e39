import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { Program } from '../../test/system/program';
import { alone } from './cores';
import type { Figure } from './figures';
import { artefact, type Testbed } from './testbed';
import { spreadOf } from './statistics';

const PROCESSES = 3;
const DEADLINE_MS = 120_000;

/** Holding and settling alone, in processes like a gateway's; `npm run bench:money` has more about it. */
export async function measureMoney(testbed: Testbed): Promise<Figure[]> {
  const costs: number[] = [];
  for (let count = 0; count < PROCESSES; count += 1) costs.push(await measureOnce(testbed));
  return [
    {
      what: 'CPU of hold + settle + journal',
      unit: 'µs',
      measured: spreadOf(costs),
      rounds: costs,
      note: '16 requests that end in one turn of the loop, as in bench:money',
    },
  ];
}

async function measureOnce(testbed: Testbed): Promise<number> {
  const flags = artefact.filter((word) => word.startsWith('--'));
  const folder = mkdtempSync(join(testbed.folder, 'money-'));
  const file = join(__dirname, 'hold-and-settle.js');
  const [command = '', ...words] = alone([process.execPath, ...flags, file, folder]);
  const { code, output, text } = await Program.run(command, words).finish(DEADLINE_MS);
  if (code !== 0) throw new Error(`hold-and-settle ended with ${code}: ${text}`);
  return Number(output);
}
