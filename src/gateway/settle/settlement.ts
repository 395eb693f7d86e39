import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Refusals } from '../../audit';
import { Escrow } from '../../billing';
import { fromUnknown } from '../../kernel';
import { AttemptTools, type Delivery, type LaneTry } from '../attempt';
import { type Call, KeptAnswers } from '../intake';
import { droppedNames } from '../reply/dropped-names';
import { type CallFacts, setDroppedHeader } from '../reply/svc-headers';
import { type AnswerSample, AnswerSampling } from './answer-sampling';
import { Observer } from './observer';
import { recordRefusal } from './refuse';
import type { RequestProgress } from './request-progress';
import { settle, settleAbandoned, type Settled } from './settle';

/** The end of a request: its charge and record, or the record of its failure. */
@Injectable()
export class Settlement {
  constructor(
    private readonly tools: AttemptTools,
    private readonly kept: KeptAnswers,
    private readonly observer: Observer,
    private readonly sampling: AnswerSampling,
    private readonly refusals: Refusals,
    private readonly escrow: Escrow,
  ) {}

  /** Charges what was delivered. An `answer` that later requests may refer to is durable with it. */
  settle(delivery: Delivery, progress: RequestProgress, answer: Buffer | string | null): Settled {
    const { by, seals = [] } = delivery;
    this.tools.owners.remember(seals, by.route.lane.provider);
    const settled = settle(delivery, progress.tries);
    const { facts, kept } = settled;
    progress.tokens?.ended(facts.inputTokens + facts.outputTokens);
    const { operation, auto } = by.routed.call;
    if (operation.keepsAnswers !== true && auto === null) return settled;
    return { facts, kept: this.whenKept(delivery, kept, answer) };
  }

  /** The answer has left. */
  served(delivery: Delivery, { tries }: RequestProgress, facts: CallFacts): void {
    this.observer.served(delivery, tries, facts);
  }

  /** A sample of the answer; null for nearly every request. */
  sample(call: Call): AnswerSample | null {
    return this.sampling.begin(call);
  }

  /** The caller left while a lane was at work. */
  async abandoned(by: LaneTry, asked: Call, progress: RequestProgress, error: unknown): Promise<void> {
    progress.isSettled = true;
    progress.tokens?.ended(asked.inputEstimate);
    await settleAbandoned(by, progress.tries, fromUnknown(error));
  }

  /** Counts a request without an answer, and records it where it was not settled. */
  async failed(progress: RequestProgress, error: unknown, response: ServerResponse): Promise<void> {
    const { http, operation, tries, model, isSettled, dropped } = progress;
    if (!response.headersSent) setDroppedHeader(response, droppedNames(dropped));
    this.observer.failed(operation.name, model, error, tries);
    if (model !== '') http.attempted = { model, supplier: tries.at(-1)?.supplier ?? null };
    if (!isSettled) await recordRefusal(progress, error, this.refusals, this.escrow);
  }

  /** Before the last byte leaves, both the settlement and a referable answer are durable. */
  private async whenKept(
    { by, calls }: Delivery,
    account: Promise<void>,
    answer: Buffer | string | null,
  ): Promise<void> {
    const { call, model } = by.routed;
    const isKept = call.operation.keepsAnswers === true && answer !== null;
    const keeping = isKept ? this.kept.keep(call, model.name, answer) : undefined;
    const remembering = call.auto?.whenRemembered(calls);
    await account;
    if (keeping !== undefined) await keeping;
    if (remembering !== undefined) await remembering;
  }
}
