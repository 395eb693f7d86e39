import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Nano } from '../../kernel';
import type { Caller } from '../../keys';
import { readAnswer } from '../content/answer-text';
import { type EvaluationAsk, Evaluator } from '../loop/evaluator';
import type { SampleRow } from '../loop/samples';
import { judgeRequest, type JudgeTask } from './judge-prompt';
import {
  addressesJudge,
  type Judgement,
  type Preference,
  preferenceOf,
  readComparison,
  readRating,
} from './judgement';

/** It is one answer, blind: nothing tells the judge who wrote it. */
export interface Judging {
  readonly sample: SampleRow;
  readonly caller: Caller;
  readonly judge: string;
  readonly conversation: string;
  readonly answer: string;
  /** The served answer, where this is another model's. */
  readonly served: string | null;
  readonly signal: AbortSignal;
}

export interface Judged {
  readonly judgement: Judgement;
  readonly preference: Preference | null;
  readonly costNano: Nano;
  readonly latencyMs: number;
}

interface JudgeReply {
  readonly text: string;
  readonly check: string;
  readonly costNano: Nano;
  readonly latencyMs: number;
}

const CHARACTERS_PER_TOKEN = 4;
const INSTRUCTION_TOKENS = 400;
const USUAL_ANSWER_TOKENS = 200;

/** Asks a model of the catalogue for scores and preferences. */
@Injectable()
export class Judge {
  constructor(private readonly evaluator: Evaluator) {}

  async judge(judging: Judging): Promise<Judged> {
    const { conversation, answer, served } = judging;
    if (addressesJudge(answer)) return unasked('The answer speaks to its judge.');
    const rated = await this.ask(judging, 'rate', { conversation, answer });
    const judgement = readRating(rated.text, rated.check);
    if (judgement.verdict !== 'ok' || served === null || addressesJudge(served))
      return { judgement, preference: null, costNano: rated.costNano, latencyMs: rated.latencyMs };
    const before = await this.ask(judging, 'compare', { conversation, first: served, second: answer });
    const after = await this.ask(judging, 'compare', { conversation, first: answer, second: served });
    return {
      judgement,
      preference: preferenceOf(
        readComparison(before.text, before.check),
        readComparison(after.text, after.check),
      ),
      costNano: rated.costNano + before.costNano + after.costNano,
      latencyMs: rated.latencyMs,
    };
  }

  private async ask(
    { sample, caller, judge, signal }: Judging,
    task: JudgeTask,
    texts: Readonly<Record<string, string>>,
  ): Promise<JudgeReply> {
    const check = randomBytes(9).toString('base64url');
    const length = Object.values(texts).reduce((sum, text) => sum + text.length, 0);
    const ask: EvaluationAsk = {
      sample,
      // The key's model access does not restrict the judge; the organisation's rules do.
      caller: { ...caller, allowedModels: null },
      purpose: task === 'rate' ? 'judge' : 'compare',
      surface: 'chat',
      model: judge,
      body: judgeRequest(task, judge, check, texts),
      tokensIn: Math.ceil(length / CHARACTERS_PER_TOKEN) + INSTRUCTION_TOKENS,
      tokensOut: USUAL_ANSWER_TOKENS,
      signal,
    };
    const { body, costNano, latencyMs } = await this.evaluator.ask(ask);
    const text = readAnswer('chat', { answer: body, stream: false }, false)?.text ?? '';
    return { text, check, costNano, latencyMs };
  }
}

const unasked = (rationale: string): Judged => ({
  judgement: { verdict: 'unjudgeable', rationale },
  preference: null,
  costNano: 0n,
  latencyMs: 0,
});
