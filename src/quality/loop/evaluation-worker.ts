import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { MINUTE_MS } from '../../kernel';
import { type Job, Processor, WorkerHost } from '../../platform';
import { EVALUATION_QUEUE, type EvaluationJob } from './evaluation-queue';
import { JudgeStep } from './judge-step';
import { LearnStep } from './learn-step';
import { ReplayStep } from './replay-step';

const DEADLINE_MS = 15 * MINUTE_MS;

@Injectable()
@Processor(EVALUATION_QUEUE, { concurrency: 2 })
export class EvaluationWorker extends WorkerHost implements BeforeApplicationShutdown {
  private readonly stopping = new AbortController();

  constructor(
    private readonly replay: ReplayStep,
    private readonly judge: JudgeStep,
    private readonly learn: LearnStep,
  ) {
    super();
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort();
  }

  override process({ data }: Job<EvaluationJob>): Promise<void> {
    const signal = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(DEADLINE_MS)]);
    switch (data.step) {
      case 'replay':
        return this.replay.run(data.requestId, data.again, signal);
      case 'judge':
        return this.judge.run(data.requestId, data.model, data.judge, signal);
      case 'learn':
        return this.learn.run(data.requestId);
    }
  }
}
