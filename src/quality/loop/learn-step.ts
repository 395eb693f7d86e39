import { Injectable } from '@nestjs/common';
import { Database } from '../../platform';
import { type Example, loadedExample } from '../../autorouter';
import { NOT_ACTIVITY } from '../ledger/evaluation-ledger';
import { QualityPolicies } from '../settings/quality-policies';
import { RouterMemory } from './router-memory';
import { type AnswerRow, consentOwnerOf, type SampleRow, Samples } from './samples';

/** Passes a sample's scores to the router, all replies as one example, and deletes its texts. */
@Injectable()
export class LearnStep {
  constructor(
    private readonly samples: Samples,
    private readonly policies: QualityPolicies,
    private readonly memory: RouterMemory,
    private readonly database: Database,
  ) {}

  async run(requestId: string): Promise<void> {
    const sample = await this.samples.findInState(requestId, 'judged');
    if (sample === null) return;
    if ((await this.policies.consentOf(consentOwnerOf(sample))) === null)
      return this.samples.close(requestId, 'switched_off');
    const example = exampleOf(sample, await this.samples.listAnswers(requestId));
    if (example === null) return this.samples.close(requestId, 'unjudgeable');
    await this.storePredictions(sample, example);
    // Idempotent by the id of the example, so a crash between the two statements does not learn twice.
    await this.memory.learn(sample.organisationId, sample.userId, example);
    await this.database.transaction(async (tx) => {
      const settings = await this.policies.lockConsent(tx, consentOwnerOf(sample));
      const days = settings?.content_retention_days ?? 0;
      if (!(await this.samples.lockInState(tx, requestId, 'judged'))) return;
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

  /** Stores the prediction before learning, the only honest measure of the router's knowledge. */
  private async storePredictions(sample: SampleRow, example: Example): Promise<void> {
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

/** Returns null if no reply has a score. */
function exampleOf({ features }: SampleRow, answers: readonly AnswerRow[]): Example | null {
  const outcomes = answers.flatMap(({ model, scoreTotal: total, tokensOut, latencyMs }) =>
    total === null ? [] : [{ model, score: total / 100, tokensOut, latencyMs }],
  );
  if (features === null || outcomes.length === 0) return null;
  return loadedExample({ ...features, outcomes });
}
