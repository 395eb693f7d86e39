import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Job } from '#extension';
import { Logger, RepeatingJobs } from '../platform';
import { Extensions } from './extensions';
import type { ExtensionPart } from './loaded-extension';

/** How long a job may run after its abort signal. */
const GRACE_MS = 5_000;

/** Registers the jobs of extensions under `<extension>/<name>`. */
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
  { extension, name, part }: ExtensionPart<Job>,
  signal: AbortSignal,
  logger: Logger,
): Promise<void> {
  try {
    await waitWithGrace(Promise.resolve(part.run(signal)), signal);
  } catch (error) {
    logger.error('a job of an extension failed', { extension, job: name, error });
    throw error;
  }
}

/**
 * Frees the job's slot even if the job ignores its signal. The work continues in the background, and its failure is
 * ignored.
 */
async function waitWithGrace(work: Promise<void>, signal: AbortSignal): Promise<void> {
  work.catch(() => undefined);
  const graceExpired = new Promise<never>((_resolve, reject) => {
    const startGrace = (): void =>
      void delay(GRACE_MS, undefined, { ref: false }).then(() =>
        reject(new Error('it did not end after its signal')),
      );
    if (signal.aborted) startGrace();
    else signal.addEventListener('abort', startGrace, { once: true });
  });
  await Promise.race([work, graceExpired]);
}
