import type { JobsOptions, Queue } from 'bullmq';
import { uuidv7, withDeadline } from '../../kernel';

export interface NewJob<Data> {
  readonly name: string;
  readonly data: Data;
  /** Further jobs with the same id are ignored; letters, digits and any of `-_.`. */
  readonly id?: string;
  readonly options?: Omit<JobsOptions, 'jobId'>;
}

const RESPONSE_TIMEOUT_MS = 5_000;

/**
 * Queues a job, or fails after a few seconds if the queue's store hangs. The id is always set, or BullMQ would create a
 * sequence per queue at run time, which the service's role cannot do.
 */
export async function addJob<Data>(
  queue: Queue,
  { name, data, id = uuidv7(), options }: NewJob<Data>,
): Promise<void> {
  if (!/^[\w.-]+$/.test(id)) throw new RangeError('a job id has characters it may not have');
  await withResponseTimeout(queue, queue.add(name, data, { ...options, jobId: id }));
}

const withResponseTimeout = <T>(queue: Queue, work: Promise<T>): Promise<T> =>
  withDeadline(RESPONSE_TIMEOUT_MS, work, () => new Error(`the queue ${queue.name} does not answer`));
