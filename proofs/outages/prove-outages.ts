import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { partsGiven, runProof } from '../../test/system/findings';
import { closeConnections } from '../failover/caller';
import { drills as groups } from './drills';
import { Report } from './report';
import { Testbed } from './testbed';

/** With names, only these drills; with --quick, shorter outages. */
async function main(): Promise<void> {
  const words = process.argv.slice(2);
  const wanted = partsGiven(groups.flat().map(({ name }) => name));
  Logger.overrideLogger(['error']);
  const report = new Report('prove:outages');
  const testbed = await Testbed.open();
  const leave = (): void => void testbed.close().finally(() => process.exit(1));
  process.once('SIGINT', leave).once('SIGTERM', leave);
  const context = { testbed, report, quick: words.includes('--quick') };
  try {
    for (const group of groups)
      await Promise.all(group.filter(({ name }) => wanted.includes(name)).map((drill) => drill.run(context)));
  } finally {
    closeConnections();
    await testbed.close();
  }
  report.end();
}

runProof(main);
