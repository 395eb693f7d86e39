import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { hangUp } from '../failover/caller';
import { aborts } from './drills/aborts';
import { database } from './drills/database';
import { fullDisk } from './drills/full-disk';
import { hostileBody } from './drills/hostile-body';
import { mailServer } from './drills/mail-server';
import { redis } from './drills/redis';
import { rollingRestart } from './drills/rolling-restart';
import { slowSupplier } from './drills/slow-supplier';
import { House } from './house';
import { Report } from './report';
import type { Drill } from './stage';

const drills: readonly Drill[] = [
  database,
  redis,
  slowSupplier,
  mailServer,
  fullDisk,
  hostileBody,
  rollingRestart,
  aborts,
];

/** With names, only these drills; with --quick, shorter outages. */
async function main(): Promise<void> {
  const words = process.argv.slice(2);
  const names = words.filter((word) => !word.startsWith('--'));
  const unknown = names.filter((name) => drills.every((drill) => drill.name !== name));
  if (unknown.length > 0)
    throw new Error(
      `no such drill: ${unknown.join(', ')}; known: ${drills.map(({ name }) => name).join(', ')}`,
    );
  Logger.overrideLogger(['error']);
  const report = new Report();
  const house = await House.open();
  const leave = (): void => void house.close().finally(() => process.exit(1));
  process.once('SIGINT', leave).once('SIGTERM', leave);
  try {
    for (const drill of drills) {
      if (names.length > 0 && !names.includes(drill.name)) continue;
      await drill.run({ house, report, quick: words.includes('--quick') });
      await house.stopNodes();
    }
  } finally {
    hangUp();
    await house.close();
  }
  process.exitCode = report.end() ? 0 : 1;
}

void main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
});
