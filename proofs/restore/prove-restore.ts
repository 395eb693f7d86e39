import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { Findings, partsGiven, runProof } from '../../test/system/findings';
import { closeConnections } from '../failover/caller';
import { drills } from './drills';
import { restoreAndExamine, type Row } from './examine';
import { House } from './house';
import { pace } from './pace';

const PACE = 'pace';
const nameOf = (words: string): string => words.replaceAll(/[ ,]+/g, '-');

/**
 * Backups and restores while the product, the database, the backup and the restore are killed. With names, only these
 * drills; `pace` compares the times of calls with and without a backup.
 */
async function main(): Promise<void> {
  const wanted = partsGiven([...drills.map(({ name }) => nameOf(name)), PACE]);
  Logger.overrideLogger(['error']);
  const findings = new Findings('prove:restore');
  const rows: Row[] = [];
  const house = await House.open();
  const leave = (): void => void house.close().finally(() => process.exit(1));
  process.once('SIGINT', leave).once('SIGTERM', leave);
  try {
    await house.backUp();
    for (const drill of drills.filter(({ name }) => wanted.includes(nameOf(name))))
      await findings.attempt(`${drill.name}: went to its end`, async () => {
        const wish = await drill.run(house, findings);
        if (wish !== null) rows.push(await restoreAndExamine(house, drill.name, wish, findings));
      });
    if (wanted.includes(PACE)) await pace(house, findings);
  } finally {
    closeConnections();
    await house.close();
  }
  table(rows);
  findings.end();
}

function table(rows: readonly Row[]): void {
  const lines = [
    ['Drill', 'Restored to', 'Committed before', 'Sent after', 'Restore'],
    ['---', '---', '---', '---', '---'],
    ...rows.map(({ drill, moment, before, after, took }) => [drill, moment, `${before}`, `${after}`, took]),
  ];
  process.stdout.write(`\n${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`);
}

runProof(main);
