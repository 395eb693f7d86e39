import { randomInt } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { CatalogueService, type ModelView } from '../../catalogue';
import { fromUnknown } from '../../kernel';
import type { Caller } from '../../keys';
import { Database, type TableRow } from '../../platform';
import { readAnswer } from '../content/answer-text';
import { readRequest, type RequestText } from '../content/request-text';
import { type RequestContent, SampleContent } from '../content/sample-content';
import { QualityPolicies } from '../settings/quality-policies';
import { MAX_REPLAYS, replayCandidates } from './candidates';
import { EvaluationQueue } from './evaluation-queue';
import { BudgetSpent, ConsentWithdrawn, Evaluator } from './evaluator';
import { Judges } from './judges';
import { type AnswerRow, consentOwnerOf, type SampleRow, Samples } from './samples';

interface ReplayContext {
  readonly sample: SampleRow;
  readonly caller: Caller;
  readonly content: RequestContent;
  readonly request: RequestText;
  readonly served: AnswerRow;
  readonly candidates: readonly ModelView[];
  readonly signal: AbortSignal;
}

@Injectable()
export class ReplayStep {
  private readonly logger = new Logger(ReplayStep.name);

  constructor(
    private readonly samples: Samples,
    private readonly policies: QualityPolicies,
    private readonly evaluator: Evaluator,
    private readonly judges: Judges,
    private readonly catalogue: CatalogueService,
    private readonly content: SampleContent,
    private readonly database: Database,
    private readonly queue: EvaluationQueue,
  ) {}

  async run(requestId: string, again: string, signal: AbortSignal): Promise<void> {
    const sample = await this.samples.findInState(requestId, 'waiting');
    if (sample === null) return;
    const settings = await this.policies.consentOf(consentOwnerOf(sample));
    if (settings === null) return this.samples.close(requestId, 'switched_off');
    const content = this.samples.requestOf(sample);
    const request = content === null ? null : readRequest(content.surface, content.body);
    if (content === null || request === null) return this.samples.close(requestId, 'content_gone');
    const caller = await this.evaluator.callerFor(sample).catch(() => null);
    const answers = await this.samples.listAnswers(requestId);
    const served = answers.find(({ role }) => role === 'served');
    if (caller === null || served === undefined) return this.samples.close(requestId, 'key_gone');
    const candidates = settings.replay ? this.candidatesFor(sample, caller, request, served) : [];
    const servedModel = this.catalogue.snapshot.model(sample.servedModel);
    const judgedModels = [...(servedModel === undefined ? [] : [servedModel]), ...candidates];
    // The judge is chosen before any model is called and paid: without a judge the replies would be useless.
    const judge = await this.judges.choose({ sample, caller, settings, judgedModels });
    if (judge === null) return this.samples.close(requestId, 'no_judge');
    try {
      await this.callOthers({ sample, caller, content, request, served, candidates, signal }, answers);
    } catch (error) {
      if (error instanceof ConsentWithdrawn) return this.samples.close(requestId, 'switched_off');
      if (error instanceof BudgetSpent) return this.samples.close(requestId, 'budget');
      throw error;
    }
    await this.samples.changeState(requestId, 'waiting', 'replayed');
    for (const { model } of await this.samples.listAnswers(requestId))
      await this.queue.judge(requestId, model, judge, again);
  }

  private candidatesFor(
    { servedModel: model, regionAsked: region }: SampleRow,
    caller: Caller,
    request: RequestText,
    { tokensIn }: AnswerRow,
  ): readonly ModelView[] {
    return replayCandidates(this.catalogue, { caller, served: model, region, request, tokensIn });
  }

  /** Skips models that fail to reply; replies from before a crash are not requested again. */
  private async callOthers(replay: ReplayContext, answers: readonly AnswerRow[]): Promise<void> {
    const { sample, candidates, signal } = replay;
    const existing = new Set(answers.map(({ model }) => model));
    const remaining = MAX_REPLAYS - (answers.length - 1);
    const chosen = await this.chooseLeastScored(
      sample,
      candidates.filter(({ name }) => !existing.has(name)),
      remaining,
    );
    for (const { name } of chosen) {
      signal.throwIfAborted();
      try {
        await this.callModel(replay, name);
      } catch (error) {
        if (error instanceof BudgetSpent || error instanceof ConsentWithdrawn || signal.aborted) throw error;
        const { code } = fromUnknown(error);
        this.logger.warn(`${name} did not answer request ${sample.requestId} again: ${code}`);
      }
    }
  }

  private async callModel(replay: ReplayContext, model: string): Promise<void> {
    const { sample, caller, content, request, served, signal } = replay;
    const response = await this.evaluator.request({
      sample,
      caller,
      purpose: 'replay',
      surface: content.surface,
      model,
      body: content.body,
      tokensIn: served.tokensIn,
      tokensOut: served.tokensOut,
      signal,
    });
    const reply = readAnswer(content.surface, { answer: response.body, stream: false }, request.wantsJson);
    if (reply === null) return;
    // A sample that was closed meanwhile must not store any text.
    await this.database.query(
      `INSERT INTO quality_score (request_id, organisation_id, created_at, model, role, supplier, region, tokens_in,
         tokens_out, cost_nano, latency_ms, answer_length, objective_flags, content)
       SELECT $1, organisation_id, created_at, $2, 'replay', $3, $4, $5, $6, $7, $8, $9, $10, $11
         FROM quality_sample WHERE request_id = $1 AND state = 'waiting' FOR UPDATE
       ON CONFLICT ON CONSTRAINT quality_score_once DO NOTHING`,
      [
        sample.requestId,
        model,
        response.supplier,
        response.region,
        response.inputTokens,
        response.outputTokens,
        response.costNano.toString(),
        response.latencyMs,
        reply.text.length,
        reply.flags,
        this.content.sealAnswer(sample.requestId, { text: reply.text }),
      ],
    );
  }

  /** Prefers the models with the fewest scores; ties are broken randomly. */
  private async chooseLeastScored(
    { organisationId, bucket }: SampleRow,
    models: readonly ModelView[],
    maxModels: number,
  ): Promise<readonly ModelView[]> {
    if (models.length <= maxModels) return models;
    const rows = await this.database.query<TableRow<'quality_score', 'model'> & { readonly scores: number }>(
      `SELECT s.model, count(*)::integer AS scores FROM quality_score s JOIN quality_sample q USING (request_id)
        WHERE s.organisation_id = $1 AND q.bucket = $2 AND s.verdict = 'ok' GROUP BY 1`,
      [organisationId, bucket],
    );
    const scores = new Map(rows.map((row) => [row.model, row.scores]));
    return models
      .map((model) => ({ model, scores: scores.get(model.name) ?? 0, draw: randomInt(1_000_000) }))
      .sort((one, other) => one.scores - other.scores || one.draw - other.draw)
      .slice(0, Math.max(0, maxModels))
      .map(({ model }) => model);
  }
}
