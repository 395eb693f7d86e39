import type { JobsOptions, Queue } from 'bullmq';
import { uuidv7, withDeadline } from '../../kernel';

export interface NewJob<Data> {
  readonly name: string;
  readonly data: Data;
  /** A second job of the same id is ignored; letters, digits and any of `-_.`. */
  readonly id?: string;
  readonly options?: Omit<JobsOptions, 'jobId'>;
}

const ANSWER_DEADLINE_MS = 5_000;

/**
 * Queues a job, or fails after a few seconds: a caller must not hang when the queue's store does. We always give the
 * id; otherwise BullMQ creates a sequence for each queue at run time, which the service's role may not.
 */
export async function addJob<Data>(
  queue: Queue,
  { name, data, id = uuidv7(), options }: NewJob<Data>,
): Promise<void> {
  if (!/^[\w.-]+$/.test(id)) throw new RangeError('a job id has characters it may not have');
  await answerOf(queue, queue.add(name, data, { ...options, jobId: id }));
}

const answerOf = <T>(queue: Queue, work: Promise<T>): Promise<T> =>
  withDeadline(ANSWER_DEADLINE_MS, work, () => new Error(`the queue ${queue.name} does not answer`));
