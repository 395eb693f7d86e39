import { Injectable } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { familyOf } from '../../autorouter';
import { fromUnknown } from '../../kernel';
import { Database } from '../../platform';
import { redact, type RedactionCounts } from '../content/redaction';
import { readRequest } from '../content/request-text';
import { SampleContent } from '../content/sample-content';
import { Judge, type JudgeResult } from '../judge/judge';
import { judgeVersion } from '../judge/judge-prompt';
import { RUBRIC_VERSION } from '../judge/rubric';
import { NOT_ACTIVITY } from '../ledger/evaluation-ledger';
import { QualityPolicies } from '../settings/quality-policies';
import { upstreamsOf } from './candidates';
import { EvaluationQueue } from './evaluation-queue';
import { BudgetSpent, ConsentWithdrawn, Evaluator } from './evaluator';
import { type AnswerRow, consentOwnerOf, type SampleRow, Samples } from './samples';

interface JudgeTexts {
  readonly conversation: string;
  readonly answer: string;
  readonly served: string | null;
  readonly redactions: RedactionCounts;
}

/** Has one reply of a sample judged, and passes the sample on when all of its replies are. */
@Injectable()
export class JudgeStep {
  constructor(
    private readonly samples: Samples,
    private readonly policies: QualityPolicies,
    private readonly evaluator: Evaluator,
    private readonly judge: Judge,
    private readonly catalogue: CatalogueService,
    private readonly content: SampleContent,
    private readonly database: Database,
    private readonly queue: EvaluationQueue,
  ) {}

  async run(requestId: string, model: string, judge: string, signal: AbortSignal): Promise<void> {
    const sample = await this.samples.findInState(requestId, 'replayed');
    if (sample === null) return;
    const settings = await this.policies.consentOf(consentOwnerOf(sample));
    if (settings === null) return this.samples.close(requestId, 'switched_off');
    const answers = await this.samples.listAnswers(requestId);
    const answer = answers.find((row) => row.model === model);
    if (answer?.verdict === null) {
      try {
        const texts = this.textsOf(sample, answers, answer, settings.redaction);
        if (!(await this.judgeOne(sample, answer, judge, texts, signal))) return;
      } catch (error) {
        if (error instanceof ConsentWithdrawn) return this.samples.close(requestId, 'switched_off');
        if (error instanceof BudgetSpent) return this.samples.close(requestId, 'budget');
        if (!isPermanent(error)) throw error;
        return this.samples.close(requestId, 'judge_refused');
      }
    }
    await this.passOn(requestId);
  }

  /** Returns false if the sample ended with this reply. */
  private async judgeOne(
    sample: SampleRow,
    answer: AnswerRow,
    judge: string,
    texts: JudgeTexts | null,
    signal: AbortSignal,
  ): Promise<boolean> {
    const requestId = sample.requestId;
    if (texts === null) {
      await this.samples.close(requestId, 'content_gone');
      return false;
    }
    const caller = await this.evaluator.callerFor(sample).catch(() => null);
    if (caller === null) {
      await this.samples.close(requestId, 'key_gone');
      return false;
    }
    const { conversation, served } = texts;
    const result = await this.judge.judge({
      sample,
      caller,
      judge,
      conversation,
      answer: texts.answer,
      served,
      signal,
    });
    await this.write(sample, answer, judge, texts, result);
    return true;
  }

  private textsOf(
    sample: SampleRow,
    answers: readonly AnswerRow[],
    answer: AnswerRow,
    isRedacted: boolean,
  ): JudgeTexts | null {
    const content = this.samples.requestOf(sample);
    const request = content === null ? null : readRequest(content.surface, content.body);
    const answerText = this.textOf(sample.requestId, answer);
    if (request === null || answerText === null) return null;
    const servedRow = answer.role === 'served' ? undefined : answers.find(({ role }) => role === 'served');
    const served = servedRow === undefined ? null : this.textOf(sample.requestId, servedRow);
    const redactions: RedactionCounts = {};
    const prepare = (text: string): string => (isRedacted ? redact(text, redactions) : text);
    return {
      conversation: prepare(request.conversation),
      answer: prepare(answerText),
      served: served === null ? null : prepare(served),
      redactions,
    };
  }

  private textOf(requestId: string, { content }: AnswerRow): string | null {
    return content === null ? null : (this.content.openAnswer(requestId, content)?.text ?? null);
  }

  private async write(
    { requestId }: SampleRow,
    { model, role }: AnswerRow,
    judge: string,
    { answer, redactions }: JudgeTexts,
    { judgement, preference, costNano, latencyMs }: JudgeResult,
  ): Promise<void> {
    const { snapshot } = this.catalogue;
    const [judgeModel, judgedModel] = [snapshot.model(judge), snapshot.model(model)];
    const isScored = judgement.verdict === 'ok';
    const stored = { text: answer, rationale: judgement.rationale };
    await this.database.transaction(async (tx) => {
      // A sample that was closed meanwhile must not store any text.
      if (!(await this.samples.lockInState(tx, requestId, 'replayed'))) return;
      await tx.query(
        `UPDATE quality_score SET judge_model = $3, judge_version = $4, rubric_version = $5, verdict = $6,
                score_total = $7, scores = $8::jsonb, pair_preference = $9, order_swapped = $10, self_family = $11,
                is_simulated = $12, judge_cost_nano = $13, judge_latency_ms = $14, judged_at = now(), content = $15
          WHERE request_id = $1 AND model = $2 AND verdict IS NULL`,
        [
          requestId,
          model,
          judge,
          judgeVersion(judge, upstreamsOf(this.catalogue, judge)),
          RUBRIC_VERSION,
          judgement.verdict,
          isScored ? judgement.total : null,
          isScored ? JSON.stringify(judgement.scores) : null,
          preference,
          preference !== null,
          judgeModel !== undefined &&
            judgedModel !== undefined &&
            familyOf(judgeModel) === familyOf(judgedModel),
          judgeModel?.lanes.some(({ provider }) => provider.style === 'sandbox') ?? false,
          costNano.toString(),
          latencyMs,
          this.content.sealAnswer(requestId, stored),
        ],
      );
      if (role === 'served')
        await tx.query('UPDATE quality_sample SET redactions = $2::jsonb WHERE request_id = $1', [
          requestId,
          JSON.stringify(redactions),
        ]);
    }, NOT_ACTIVITY);
  }

  private async passOn(requestId: string): Promise<void> {
    const rows = await this.database.query<unknown>(
      `WITH whole AS (
         UPDATE quality_sample SET state = 'judged', changed_at = now()
          WHERE request_id = $1 AND state = 'replayed'
            AND NOT EXISTS (SELECT FROM quality_score WHERE request_id = $1 AND verdict IS NULL)
          RETURNING request_id)
       SELECT request_id FROM whole`,
      [requestId],
    );
    if (rows.length > 0) await this.queue.learn(requestId);
  }
}

/** Returns whether retrying is pointless: the judge cannot be called, or does not accept the request. */
function isPermanent(error: unknown): boolean {
  const { status } = fromUnknown(error);
  return status >= 400 && status < 500 && status !== 408 && status !== 409 && status !== 429;
}
