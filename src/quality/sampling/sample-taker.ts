import { hash } from 'node:crypto';
import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import {
  type AnswerSampler,
  AnswerSampling,
  AUTO,
  type GatewayCall,
  type RetriedAnswer,
  type ServedAnswer,
} from '../../gateway';
import { extractFeatures, type Features, storedExample } from '../../autorouter';
import { Database } from '../../platform';
import { readAnswer, type JudgedText } from '../content/answer-text';
import { readRequest, type RequestText } from '../content/request-text';
import { SampleContent } from '../content/sample-content';
import { AnswerFeedback } from '../feedback/answer-feedback';
import { AnswerSignals } from '../feedback/answer-signals';
import { EvaluationQueue } from '../loop/evaluation-queue';
import { RouterMemory } from '../loop/router-memory';
import { EvaluationLedger, NOT_ACTIVITY } from '../ledger/evaluation-ledger';
import { QualityPolicies } from '../settings/quality-policies';
import type { QualitySettings } from '../settings/quality-settings';
import { languageOf } from './language';
import { isOptedOut } from './opt-out';
import { type Inclusion, inclusionOf, maxProbability, THIN_CELL } from './sampling-rate';

/** Maximum number of samples stored concurrently; further ones are dropped, as requests have priority. */
const MAX_CONCURRENT = 16;
/** Maximum number of open samples per organisation, so that it does not delay others and texts do not expire. */
const MAX_OPEN = 50;
/** Number of latest samples of a kind among which the scores of a cell are counted. */
const RECENT_SAMPLES = 1_000;
/** Content is stored until it is judged; longer only if the organisation keeps content. */
const CONTENT_HOURS = 24;

interface NewSample {
  readonly served: ServedAnswer;
  readonly organisationId: number;
  readonly settings: QualitySettings;
  readonly request: RequestText;
  readonly answer: JudgedText;
  readonly features: Features;
  readonly inclusion: Inclusion;
}

@Injectable()
export class SampleTaker implements AnswerSampler, OnApplicationBootstrap {
  private readonly logger = new Logger(SampleTaker.name);
  private inProgress = 0;

  constructor(
    private readonly sampling: AnswerSampling,
    private readonly policies: QualityPolicies,
    private readonly database: Database,
    private readonly content: SampleContent,
    private readonly queue: EvaluationQueue,
    private readonly ledger: EvaluationLedger,
    private readonly memory: RouterMemory,
    private readonly signals: AnswerSignals,
    private readonly feedback: AnswerFeedback,
  ) {}

  onApplicationBootstrap(): void {
    this.sampling.register(this);
  }

  /** First draw, at the highest rate: decides whether the request is considered at all. */
  shouldSample({ inbound, model }: GatewayCall): boolean {
    const { attribution, isEvaluation, keyId } = inbound.caller;
    const { organisationId } = attribution;
    if (organisationId === null || isEvaluation === true) return false;
    const settings = this.policies.samplingOf(organisationId);
    if (settings === undefined || this.policies.isExcluded(keyId)) return false;
    if (model !== AUTO && !settings.sample_named) return false;
    if (isOptedOut(inbound)) return false;
    return Math.random() < maxProbability(settings.sampling_percent);
  }

  take(served: ServedAnswer): void {
    if (this.inProgress >= MAX_CONCURRENT) return;
    this.inProgress += 1;
    this.store(served)
      .catch((error: unknown) =>
        this.logger.warn(`A sample could not be kept, request ${served.requestId}: ${String(error)}`),
      )
      .finally(() => (this.inProgress -= 1));
  }

  /** Recorded only for users of organisations that allow evaluation. */
  retried({ requestId, caller, model }: RetriedAnswer): void {
    const { organisationId, userId } = caller.attribution;
    if (organisationId === null || userId === null || this.inProgress >= MAX_CONCURRENT) return;
    if (this.policies.samplingOf(organisationId) === undefined || this.policies.isExcluded(caller.keyId))
      return;
    this.inProgress += 1;
    // The gateway has already checked that the retry came within a minute.
    this.feedback
      .recordRetry({ requestId, userId, organisationId, model }, new Date())
      .catch((error: unknown) =>
        this.logger.warn(`A retry of ${requestId} could not be noted: ${String(error)}`),
      )
      .finally(() => (this.inProgress -= 1));
  }

  private async store(served: ServedAnswer): Promise<void> {
    const { organisationId } = served.caller.attribution;
    const settings = organisationId === null ? undefined : this.policies.samplingOf(organisationId);
    const request = readRequest(served.surface, served.body);
    if (organisationId === null || settings === undefined || request === null || request.isOpaque) return;
    const answer = readAnswer(served.surface, served, request.wantsJson);
    if (answer === null) return;
    const features = extractFeatures(
      { ...request.counters, text: request.lastQuestion, stream: served.stream, tokens: served.inputTokens },
      await this.memory.saltOf(organisationId),
    );
    const inclusion = await this.inclusionOf(organisationId, settings, features.bucket, served);
    if (inclusion === null) return;
    // Second draw: both together have the probability stored in the row.
    if (Math.random() >= inclusion.probability / maxProbability(settings.sampling_percent)) return;
    // Consent might have been withdrawn while a long reply was in flight.
    if (!(await this.write({ served, organisationId, settings, request, answer, features, inclusion })))
      return;
    await this.queue.replay(served.requestId);
  }

  /** Returns null if the maximum number of the organisation's samples is open. */
  private async inclusionOf(
    organisationId: number,
    { sampling_percent: percent, monthly_budget: monthlyBudget }: QualitySettings,
    bucket: string,
    { model, isOfChangedTraffic }: ServedAnswer,
  ): Promise<Inclusion | null> {
    const [row] = await this.database.query<{ open: number; scores: number }>(
      `SELECT (SELECT count(*)::integer FROM (
                 SELECT FROM quality_sample WHERE organisation_id = $1
                    AND state IN ('waiting', 'replayed', 'judged') LIMIT ${MAX_OPEN}) AS o) AS open,
              (SELECT count(*)::integer FROM (
                 SELECT FROM (
                   SELECT request_id FROM quality_sample WHERE organisation_id = $1 AND bucket = $2
                    ORDER BY created_at DESC LIMIT ${RECENT_SAMPLES}) AS q
                   JOIN quality_score s ON s.request_id = q.request_id AND s.model = $3 AND s.verdict = 'ok'
                  LIMIT ${THIN_CELL}) AS c) AS scores`,
      [organisationId, bucket, model],
    );
    if (row === undefined || row.open >= MAX_OPEN) return null;
    const budget = await this.ledger.remaining(organisationId, monthlyBudget);
    return inclusionOf(percent, { scoresInCell: row.scores, isOfChangedTraffic, budget });
  }

  /** Returns false if the key no longer allows evaluation. */
  private async write(sample: NewSample): Promise<boolean> {
    const { served, organisationId, answer } = sample;
    const { requestId, model, supplier, region, caller } = served;
    // A reply cut off by the caller's own limit is not the model's fault.
    const { maxTokens } = sample.request.counters;
    return this.database.transaction(async (tx) => {
      const consent = await this.policies.lockConsent(tx, { organisationId, keyId: caller.keyId });
      if (consent === null) return false;
      await tx.query(insertSample, sampleValues(sample, this.content));
      await tx.query(
        `INSERT INTO quality_score (request_id, organisation_id, created_at, model, role, supplier, region, tokens_in,
           tokens_out, cost_nano, latency_ms, first_token_ms, finish_reason, answer_length, objective_flags, content)
         SELECT $1, $2, created_at, $3, 'served', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14
           FROM quality_sample WHERE request_id = $1`,
        [
          requestId,
          organisationId,
          model,
          supplier,
          region,
          served.inputTokens,
          served.outputTokens,
          served.costNano.toString(),
          served.latencyMs,
          served.firstTokenMs,
          served.finishReason,
          answer.text.length,
          answer.flags,
          this.content.sealAnswer(requestId, { text: answer.text }),
        ],
      );
      const isBad = answer.flags.some((flag) => flag !== 'truncated' || maxTokens === undefined);
      if (isBad) await this.signals.announce(tx, { organisationId, model }, { failed: 1, answered: 0 });
      return true;
    }, NOT_ACTIVITY);
  }
}

const insertSample = `
  INSERT INTO quality_sample (request_id, created_at, organisation_id, department_id, project_id, user_id, key_id,
    session_hash, surface, requested_model, served_model, region_asked, bucket, language, sampled_by, inclusion_prob,
    features, content, content_until)
  VALUES ($1, now(), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16::jsonb, $17,
    now() + interval '${CONTENT_HOURS} hours')`;

function sampleValues(sample: NewSample, content: SampleContent): unknown[] {
  const { served, organisationId, request, features, inclusion } = sample;
  const { requestId, caller, surface, session } = served;
  const { departmentId, projectId, userId } = caller.attribution;
  const { previous_response_id: _previous, ...body } = served.body;
  const { bucket, structure, hashes, counts } = features;
  const example = storedExample({
    id: requestId,
    at: Date.now(),
    weight: 1,
    bucket,
    tokensIn: served.inputTokens,
    structure,
    hashes,
    counts,
    outcomes: [],
  });
  return [
    requestId,
    organisationId,
    departmentId,
    projectId,
    userId,
    caller.keyId,
    session === null ? null : hash('sha256', `${organisationId}\n${session}`, 'hex').slice(0, 16),
    surface,
    served.requestedModel.slice(0, 256),
    served.model,
    typeof body.region === 'string' ? body.region : null,
    bucket,
    languageOf(request.lastQuestion),
    inclusion.sampledBy,
    inclusion.probability,
    JSON.stringify(example),
    content.sealRequest(requestId, { surface, body }),
  ];
}
