import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { partsFromArguments, runProof } from '../../test/system/findings';
import { closeConnections } from '../failover/caller';
import { drills as groups } from './drills';
import { OutageReport } from './report';
import { OutageTestbed } from './testbed';

/** Names select drills; --quick shortens outages. */
async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const selectedDrills = partsFromArguments(groups.flat().map(({ name }) => name));
  Logger.overrideLogger(['error']);
  const report = new OutageReport('prove:outages');
  const testbed = await OutageTestbed.open();
  const closeAndExit = (): void => void testbed.close().finally(() => process.exit(1));
  process.once('SIGINT', closeAndExit).once('SIGTERM', closeAndExit);
  const context = { testbed, report, isQuick: args.includes('--quick') };
  try {
    for (const group of groups)
      await Promise.all(
        group.filter(({ name }) => selectedDrills.includes(name)).map((drill) => drill.run(context)),
      );
  } finally {
    closeConnections();
    await testbed.close();
  }
  report.end();
}

runProof(main);
