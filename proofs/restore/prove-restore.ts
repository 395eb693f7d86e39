import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { Findings, partsGiven, runProof } from '../../test/system/findings';
import { bucket } from './bucket';
import { drills } from './drills';
import { restoreAndExamine, type Row } from './examine';
import { House, inHouse } from './house';
import { pace } from './pace';
import { targets } from './targets';

const PACE = 'pace';
const BUCKET = 'bucket';
const TARGETS = 'targets';
const DRILLS_WITH_TARGETS = 30;
const nameOf = (words: string): string => words.replaceAll(/[ ,]+/g, '-');

/** Numbers belong to options. */
const named = process.argv.slice(2).filter((word) => /^[a-z][a-z-]*$/.test(word));

/**
 * Backups and restores while the product, the database, the backup and the restore are killed. With names, only these
 * drills; `bucket` does it in an object store, `targets` with slow, damaged and moved targets (`--drills N` of them), and
 * `pace` compares the times of calls with and without a backup.
 */
async function main(): Promise<void> {
  const wanted = partsGiven([...drills.map(({ name }) => nameOf(name)), BUCKET, TARGETS, PACE], named);
  const inFolder = drills.filter(({ name }) => wanted.includes(nameOf(name)));
  Logger.overrideLogger(['error']);
  const findings = new Findings('prove:restore');
  const rows: Row[] = [];
  if (inFolder.length > 0)
    await inHouse(House.open(), async (house) => {
      await house.backUp();
      for (const drill of inFolder)
        await findings.attempt(`${drill.name}: went to its end`, async () => {
          const wish = await drill.run(house, findings);
          if (wish !== null) rows.push(await restoreAndExamine(house, drill.name, wish, findings));
        });
    });
  if (wanted.includes(BUCKET))
    await findings.attempt('bucket: went to its end', async () => void rows.push(await bucket(findings)));
  if (wanted.includes(TARGETS)) rows.push(...(await targets(findings, drillsGiven())));
  if (wanted.includes(PACE)) {
    const target = targetGiven();
    await inHouse(House.open(target), (house) => pace(house, findings));
    if (target !== undefined) rmSync(target, { recursive: true });
  }
  if (rows.length > 0) table(rows);
  findings.end();
}

/** `--target FOLDER` lies on another disk than the journals, as a target should. */
function targetGiven(): string | undefined {
  const place = process.argv.indexOf('--target');
  const folder = process.argv[place + 1];
  return place === -1 || folder === undefined ? undefined : mkdtempSync(join(folder, 'switchboard-backups-'));
}

const drillsGiven = (): number =>
  Number(/--drills (\d+)/.exec(process.argv.join(' '))?.[1] ?? DRILLS_WITH_TARGETS);

function table(rows: readonly Row[]): void {
  const lines = [
    ['Drill', 'Restored to', 'Committed before', 'Sent after', 'Restore'],
    ['---', '---', '---', '---', '---'],
    ...rows.map(({ drill, moment, before, after, took }) => [drill, moment, `${before}`, `${after}`, took]),
  ];
  process.stdout.write(`\n${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`);
}

runProof(main);
