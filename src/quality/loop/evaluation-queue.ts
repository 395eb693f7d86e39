import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { addJob, InjectQueue, Queue } from '../../platform';

export const EVALUATION_QUEUE = 'evaluation';

export type EvaluationJob =
  | { readonly step: 'replay'; readonly requestId: string; readonly again: string }
  | { readonly step: 'judge'; readonly requestId: string; readonly model: string; readonly judge: string }
  | { readonly step: 'learn'; readonly requestId: string };

const options = { attempts: 6, backoff: { type: 'exponential', delay: 5_000, jitter: 0.5 } } as const;

/** Evaluation steps as jobs. They carry only ids, and a second job with the same id is ignored. */
@Injectable()
export class EvaluationQueue {
  constructor(@InjectQueue(EVALUATION_QUEUE) private readonly queue: Queue) {}

  /** `again` distinguishes a job that replaces a lost one. */
  replay(requestId: string, again = ''): Promise<void> {
    return this.add({ step: 'replay', requestId, again }, `replay.${requestId}${again}`);
  }

  judge(requestId: string, model: string, judge: string, again = ''): Promise<void> {
    const job = { step: 'judge', requestId, model, judge } as const;
    return this.add(job, `${requestId}.${shortHash(model)}.${shortHash(judge)}${again}`);
  }

  learn(requestId: string, again = ''): Promise<void> {
    return this.add({ step: 'learn', requestId }, `learn.${requestId}${again}`);
  }

  private add(data: EvaluationJob, id: string): Promise<void> {
    return addJob(this.queue, { name: data.step, data, id, options });
  }
}

/** Model names contain characters that job ids must not contain. */
const shortHash = (model: string): string => createHash('sha256').update(model).digest('hex').slice(0, 16);
