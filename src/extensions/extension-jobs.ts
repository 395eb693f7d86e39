import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Job } from '#extension';
import { Logger, RepeatingJobs } from '../platform';
import { Extensions } from './extensions';
import type { Owned } from './loaded-extension';

/** What a job may take to end after its signal. */
const GRACE_MS = 5_000;

/** Has the jobs of extensions run with those of the service, under `<extension>/<name>`. */
@Injectable()
export class ExtensionJobs {
  constructor(extensions: Extensions, jobs: RepeatingJobs, logger: Logger) {
    for (const owned of extensions.jobs) {
      const { cron, deadlineMs } = owned.part;
      jobs.add({
        name: owned.name,
        cron,
        ...(deadlineMs === undefined ? {} : { deadlineMs }),
        isForeign: true,
        run: (signal) => runJob(owned, signal, logger),
      });
    }
  }
}

async function runJob(
  { extension, name, part }: Owned<Job>,
  signal: AbortSignal,
  logger: Logger,
): Promise<void> {
  try {
    await endedInTime(Promise.resolve(part.run(signal)), signal);
  } catch (error) {
    logger.error('a job of an extension failed', { extension, job: name, error });
    throw error;
  }
}

/** A job that hears no signal would keep its place for good. Its work goes on unseen, and its failure is nobody's. */
async function endedInTime(work: Promise<void>, signal: AbortSignal): Promise<void> {
  work.catch(() => undefined);
  const late = new Promise<never>((_resolve, reject) => {
    const told = (): void =>
      void delay(GRACE_MS, undefined, { ref: false }).then(() =>
        reject(new Error('it did not end after its signal')),
      );
    if (signal.aborted) told();
    else signal.addEventListener('abort', told, { once: true });
  });
  await Promise.race([work, late]);
}
