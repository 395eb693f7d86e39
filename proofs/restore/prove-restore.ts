import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { Findings, partsFromArguments, runProof } from '../../test/system/findings';
import { proveBucket } from './bucket';
import { drills } from './drills';
import { restoreAndExamine, type RestoreRow } from './examine';
import { RestoreFixture, withFixture } from './restore-fixture';
import { proveOverhead } from './overhead';
import { proveTargets } from './targets';

const PACE = 'pace';
const BUCKET = 'bucket';
const TARGETS = 'targets';
const DRILLS_WITH_TARGETS = 30;
const slug = (text: string): string => text.replaceAll(/[ ,]+/g, '-');

/** Numbers are values of options. */
const selectedNames = process.argv.slice(2).filter((word) => /^[a-z][a-z-]*$/.test(word));

/**
 * Backups and restores while the product, the database, the backup and the restore are killed. Names select drills;
 * `bucket` uses an object store, `targets` slow, damaged and moved targets (`--drills N`), `pace` compares latencies
 * with and without a backup.
 */
async function main(): Promise<void> {
  const selectedParts = partsFromArguments(
    [...drills.map(({ name }) => slug(name)), BUCKET, TARGETS, PACE],
    selectedNames,
  );
  const folderDrills = drills.filter(({ name }) => selectedParts.includes(slug(name)));
  Logger.overrideLogger(['error']);
  const findings = new Findings('prove:restore');
  const rows: RestoreRow[] = [];
  if (folderDrills.length > 0)
    await withFixture(RestoreFixture.open(), async (fixture) => {
      await fixture.backUp();
      for (const drill of folderDrills)
        await findings.attempt(`${drill.name}: went to its end`, async () => {
          const restoreRequest = await drill.run(fixture, findings);
          if (restoreRequest !== null)
            rows.push(await restoreAndExamine(fixture, drill.name, restoreRequest, findings));
        });
    });
  if (selectedParts.includes(BUCKET))
    await findings.attempt(
      'bucket: went to its end',
      async () => void rows.push(await proveBucket(findings)),
    );
  if (selectedParts.includes(TARGETS)) rows.push(...(await proveTargets(findings, drillsOption())));
  if (selectedParts.includes(PACE)) {
    const target = targetOption();
    await withFixture(RestoreFixture.open(target), (fixture) => proveOverhead(fixture, findings));
    if (target !== undefined) rmSync(target, { recursive: true });
  }
  if (rows.length > 0) printTable(rows);
  findings.end();
}

/** `--target FOLDER` is on a different disk than the journals, as recommended. */
function targetOption(): string | undefined {
  const optionIndex = process.argv.indexOf('--target');
  const folder = process.argv[optionIndex + 1];
  return optionIndex === -1 || folder === undefined
    ? undefined
    : mkdtempSync(join(folder, 'switchboard-backups-'));
}

const drillsOption = (): number =>
  Number(/--drills (\d+)/.exec(process.argv.join(' '))?.[1] ?? DRILLS_WITH_TARGETS);

function printTable(rows: readonly RestoreRow[]): void {
  const lines = [
    ['Drill', 'Restored to', 'Committed before', 'Sent after', 'Restore'],
    ['---', '---', '---', '---', '---'],
    ...rows.map(({ drill, moment, before, after, duration: took }) => [
      drill,
      moment,
      `${before}`,
      `${after}`,
      took,
    ]),
  ];
  process.stdout.write(`\n${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`);
}

runProof(main);
