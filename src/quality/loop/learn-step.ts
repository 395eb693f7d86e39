import { Injectable } from '@nestjs/common';
import { Database } from '../../platform';
import { type Example, loadedExample } from '../../autorouter';
import { NOT_ACTIVITY } from '../ledger/evaluation-ledger';
import { QualityPolicies } from '../settings/quality-policies';
import { RouterMemory } from './router-memory';
import { type AnswerRow, askedBy, type SampleRow, Samples } from './samples';

/** Passes a sample's scores to the router, all answers as one example, and deletes its texts. */
@Injectable()
export class LearnStep {
  constructor(
    private readonly samples: Samples,
    private readonly policies: QualityPolicies,
    private readonly memory: RouterMemory,
    private readonly database: Database,
  ) {}

  async run(requestId: string): Promise<void> {
    const sample = await this.samples.inState(requestId, 'judged');
    if (sample === null) return;
    if ((await this.policies.consentOf(askedBy(sample))) === null)
      return this.samples.close(requestId, 'switched_off');
    const example = exampleOf(sample, await this.samples.answers(requestId));
    if (example === null) return this.samples.close(requestId, 'unjudgeable');
    await this.keepPredictions(sample, example);
    // It is idempotent on the id of the example: a crash between the two learns once all the same.
    await this.memory.learn(sample.organisationId, sample.userId, example);
    await this.database.transaction(async (tx) => {
      const settings = await this.policies.consentWithin(tx, askedBy(sample));
      const days = settings?.content_retention_days ?? 0;
      if (!(await this.samples.holds(tx, requestId, 'judged'))) return;
      await tx.query(
        `UPDATE quality_sample SET state = 'learned', changed_at = now(),
                content = CASE WHEN $2 > 0 THEN content END,
                content_until = CASE WHEN $2 > 0 THEN created_at + make_interval(days => $2) END
          WHERE request_id = $1`,
        [requestId, days],
      );
      if (days === 0)
        await tx.query('UPDATE quality_score SET content = NULL WHERE request_id = $1', [requestId]);
    }, NOT_ACTIVITY);
  }

  /** The prediction before learning: the only honest measure of the router's knowledge. */
  private async keepPredictions(sample: SampleRow, example: Example): Promise<void> {
    const predictions = await this.memory.predict(sample.organisationId, example);
    for (const [model, { quality, deviation, stateVersion }] of predictions) {
      await this.database.query(
        `UPDATE quality_score SET predicted_q = $3, predicted_sd = $4, state_version = $5
          WHERE request_id = $1 AND model = $2 AND predicted_q IS NULL`,
        [sample.requestId, model, quality, deviation, stateVersion],
      );
    }
  }
}

/** It is null where no answer has a score. */
function exampleOf({ features }: SampleRow, answers: readonly AnswerRow[]): Example | null {
  const outcomes = answers.flatMap(({ model, scoreTotal: total, tokensOut, latencyMs }) =>
    total === null ? [] : [{ model, score: total / 100, tokensOut, latencyMs }],
  );
  if (features === null || outcomes.length === 0) return null;
  return loadedExample({ ...features, outcomes });
}
