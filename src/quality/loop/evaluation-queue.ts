import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { addJob, InjectQueue, Queue } from '../../platform';

export const EVALUATION_QUEUE = 'evaluation';

export type EvaluationJob =
  | { readonly step: 'replay'; readonly requestId: string; readonly again: string }
  | { readonly step: 'judge'; readonly requestId: string; readonly model: string; readonly judge: string }
  | { readonly step: 'learn'; readonly requestId: string };

const options = { attempts: 6, backoff: { type: 'exponential', delay: 5_000, jitter: 0.5 } } as const;

/** The steps of evaluation as jobs. They carry ids only, and a second job of the same id is ignored. */
@Injectable()
export class EvaluationQueue {
  constructor(@InjectQueue(EVALUATION_QUEUE) private readonly queue: Queue) {}

  /** `again` tells apart a job that is made because the one before it was lost. */
  replay(requestId: string, again = ''): Promise<void> {
    return this.add({ step: 'replay', requestId, again }, `replay.${requestId}${again}`);
  }

  judge(requestId: string, model: string, judge: string, again = ''): Promise<void> {
    const job = { step: 'judge', requestId, model, judge } as const;
    return this.add(job, `${requestId}.${short(model)}.${short(judge)}${again}`);
  }

  learn(requestId: string, again = ''): Promise<void> {
    return this.add({ step: 'learn', requestId }, `learn.${requestId}${again}`);
  }

  private add(data: EvaluationJob, id: string): Promise<void> {
    return addJob(this.queue, { name: data.step, data, id, options });
  }
}

/** Names of models have characters that ids of jobs may not have. */
const short = (model: string): string => createHash('sha256').update(model).digest('hex').slice(0, 16);
