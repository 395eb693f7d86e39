import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Nano } from '../../kernel';
import type { Caller } from '../../keys';
import { readAnswer } from '../content/answer-text';
import { type EvaluationRequest, Evaluator } from '../loop/evaluator';
import type { SampleRow } from '../loop/samples';
import { judgeRequest, type JudgeTask } from './judge-prompt';
import {
  addressesJudge,
  type RubricJudgement,
  type Preference,
  preferenceOf,
  readComparison,
  readRating,
} from './judgement';

/** Reply to be judged blind: nothing tells the judge who wrote it. */
export interface JudgeInput {
  readonly sample: SampleRow;
  readonly caller: Caller;
  readonly judge: string;
  readonly conversation: string;
  readonly answer: string;
  /** Served reply, if the judged one is another model's; otherwise null. */
  readonly served: string | null;
  readonly signal: AbortSignal;
}

export interface JudgeResult {
  readonly judgement: RubricJudgement;
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
const EXPECTED_REPLY_TOKENS = 200;

@Injectable()
export class Judge {
  constructor(private readonly evaluator: Evaluator) {}

  async judge(input: JudgeInput): Promise<JudgeResult> {
    const { conversation, answer, served } = input;
    if (addressesJudge(answer)) return unjudgeable('The answer speaks to its judge.');
    const rated = await this.query(input, 'rate', { conversation, answer });
    const judgement = readRating(rated.text, rated.check);
    if (judgement.verdict !== 'ok' || served === null || addressesJudge(served))
      return { judgement, preference: null, costNano: rated.costNano, latencyMs: rated.latencyMs };
    const servedFirst = await this.query(input, 'compare', { conversation, first: served, second: answer });
    const servedSecond = await this.query(input, 'compare', { conversation, first: answer, second: served });
    return {
      judgement,
      preference: preferenceOf(
        readComparison(servedFirst.text, servedFirst.check),
        readComparison(servedSecond.text, servedSecond.check),
      ),
      costNano: rated.costNano + servedFirst.costNano + servedSecond.costNano,
      latencyMs: rated.latencyMs,
    };
  }

  private async query(
    { sample, caller, judge, signal }: JudgeInput,
    task: JudgeTask,
    texts: Readonly<Record<string, string>>,
  ): Promise<JudgeReply> {
    const check = randomBytes(9).toString('base64url');
    const length = Object.values(texts).reduce((sum, text) => sum + text.length, 0);
    const request: EvaluationRequest = {
      sample,
      // The key's model access does not restrict the judge; the organisation's rules do.
      caller: { ...caller, allowedModels: null },
      purpose: task === 'rate' ? 'judge' : 'compare',
      surface: 'chat',
      model: judge,
      body: judgeRequest(task, judge, check, texts),
      tokensIn: Math.ceil(length / CHARACTERS_PER_TOKEN) + INSTRUCTION_TOKENS,
      tokensOut: EXPECTED_REPLY_TOKENS,
      signal,
    };
    const { body, costNano, latencyMs } = await this.evaluator.request(request);
    const text = readAnswer('chat', { answer: body, stream: false }, false)?.text ?? '';
    return { text, check, costNano, latencyMs };
  }
}

const unjudgeable = (rationale: string): JudgeResult => ({
  judgement: { verdict: 'unjudgeable', rationale },
  preference: null,
  costNano: 0n,
  latencyMs: 0,
});
