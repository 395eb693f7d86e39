import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { Program } from '../../test/system/program';
import { onMeasuredCore } from './cores';
import type { GatewayFigure } from './figures';
import { artefact, type Testbed } from './testbed';
import { spreadOf } from './statistics';

const PROCESS_COUNT = 3;
const DEADLINE_MS = 120_000;

/** Measures only hold and settle, in processes like a gateway's; `npm run bench:money` measures more. */
export async function measureMoney(testbed: Testbed): Promise<GatewayFigure[]> {
  const costs: number[] = [];
  for (let count = 0; count < PROCESS_COUNT; count += 1) costs.push(await measureOnce(testbed));
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
  const [command = '', ...args] = onMeasuredCore([process.execPath, ...flags, file, folder]);
  const { code, output, text } = await Program.run(command, args).finish(DEADLINE_MS);
  if (code !== 0) throw new Error(`hold-and-settle ended with ${code}: ${text}`);
  return Number(output);
}
