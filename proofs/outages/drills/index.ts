import type { OutageDrill } from '../drill';
import { aborts } from './aborts';
import { clockJump } from './clock-jump';
import { crowdedSupplier } from './crowded-supplier';
import { database } from './database';
import { embeddedDatabase } from './embedded-database';
import { fileDescriptors } from './file-descriptors';
import { fullDisk } from './full-disk';
import { hostileBody } from './hostile-body';
import { jobs } from './jobs';
import { mailServer } from './mail-server';
import { overload } from './overload';
import { redis } from './redis';
import { rollingRestart } from './rolling-restart';
import { slowReaders } from './slow-readers';
import { slowSenders } from './slow-senders';
import { slowSupplier } from './slow-supplier';

/** Drills of one line run concurrently. The others need the machine or the database exclusively. */
export const drills: readonly (readonly OutageDrill[])[] = [
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
