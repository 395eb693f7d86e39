import type { JobsOptions, Queue } from 'bullmq';

export interface NewJob<Data> {
  readonly name: string;
  readonly data: Data;
  /** A second job of the same id is ignored; letters, digits and any of `-_.`. */
  readonly id?: string;
  readonly options?: Omit<JobsOptions, 'jobId'>;
}

export interface ScheduledJob<Data> {
  readonly name: string;
  /** Five or six fields, in UTC. */
  readonly cron: string;
  readonly data: Data;
}

const patience = 5_000;

/** Queues a job, or fails after a few seconds: a caller must not hang because the store behind the queue does. */
export async function addJob<Data>(queue: Queue, { name, data, id, options }: NewJob<Data>): Promise<void> {
  if (id !== undefined && !/^[\w.-]+$/.test(id))
    throw new RangeError('a job id has characters it may not have');
  await inTime(queue.add(name, data, { ...options, ...(id !== undefined && { jobId: id }) }), queue);
}

/** Sets up a job that recurs. Saying it again, or from several nodes, changes nothing; a new cron replaces the old. */
export async function scheduleJob<Data>(
  queue: Queue,
  { name, cron, data }: ScheduledJob<Data>,
): Promise<void> {
  await inTime(queue.upsertJobScheduler(name, { pattern: cron, tz: 'UTC' }, { name, data }), queue);
}

async function inTime(work: Promise<unknown>, queue: Queue): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the queue ${queue.name} does not answer`)), patience);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
