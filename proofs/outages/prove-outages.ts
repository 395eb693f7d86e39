import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { partsGiven, runProof } from '../../test/system/findings';
import { closeConnections } from '../failover/caller';
import { aborts } from './drills/aborts';
import { clockJump } from './drills/clock-jump';
import { crowdedSupplier } from './drills/crowded-supplier';
import { database } from './drills/database';
import { embeddedDatabase } from './drills/embedded-database';
import { fileDescriptors } from './drills/file-descriptors';
import { fullDisk } from './drills/full-disk';
import { hostileBody } from './drills/hostile-body';
import { jobs } from './drills/jobs';
import { mailServer } from './drills/mail-server';
import { overload } from './drills/overload';
import { redis } from './drills/redis';
import { rollingRestart } from './drills/rolling-restart';
import { slowReaders } from './drills/slow-readers';
import { slowSenders } from './drills/slow-senders';
import { slowSupplier } from './drills/slow-supplier';
import { Testbed } from './testbed';
import { Report } from './report';
import type { Drill } from './drill';

/** Drills of one line run at the same time. The others need the machine or the database alone. */
const groups: readonly (readonly Drill[])[] = [
  [database],
  [embeddedDatabase],
  [redis, mailServer, crowdedSupplier],
  [fullDisk, aborts],
  [fileDescriptors],
  [clockJump, slowSenders],
  [slowReaders],
  [overload],
  [slowSupplier],
  [hostileBody],
  [rollingRestart],
  [jobs],
];

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
