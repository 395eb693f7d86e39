import { Injectable } from '@nestjs/common';
import { Database, Notifications, OnUserErasure, type Tx } from '../../platform';
import { type Example, type StoredExample, storedExample } from '../engine';

export const autoStateChannel = 'auto_state';

@Injectable()
export class AutoLearner {
  constructor(
    private readonly database: Database,
    private readonly notifications: Notifications,
  ) {}

  /**
   * Stores what is new in the example and notifies every node; returns whether anything was new. Idempotent per example
   * id and model; the example is erased with the user `userId`.
   */
  learn(organisationId: number, userId: number | null, example: Example): Promise<boolean> {
    return this.database.transaction(
      async (tx) => {
        await lockState(tx, organisationId);
        const existingModels = await outcomesOf(tx, organisationId, example.id);
        const outcomes = example.outcomes.filter(
          ({ model }, at, all) =>
            !existingModels.has(model) && all.findIndex((other) => other.model === model) === at,
        );
        if (outcomes.length === 0) return false;
        await tx.query(
          `WITH next AS (
             UPDATE autorouter_state SET version = version + 1, updated_at = now()
              WHERE organisation_id = $1 RETURNING version)
           INSERT INTO autorouter_example (organisation_id, version, example_id, user_id, example)
           SELECT $1, version, $2, $3, $4 FROM next`,
          [organisationId, example.id, userId, storedExample({ ...example, outcomes })],
        );
        await this.notifications.notify(tx, autoStateChannel, String(organisationId));
        return true;
      },
      { withoutActivity: 'what is learned from judged answers is no change by a person' },
    );
  }

  /** Erases a user's examples; the state is then recomputed without them. */
  @OnUserErasure()
  async forgetUser(tx: Tx, userId: number): Promise<void> {
    await tx.query('DELETE FROM autorouter_example WHERE user_id = $1', [userId]);
    await tx.query(`DELETE FROM engine_setting WHERE engine = 'autorouter' AND user_id = $1`, [userId]);
  }
}

async function lockState(tx: Tx, organisationId: number): Promise<void> {
  await tx.query('INSERT INTO autorouter_state (organisation_id) VALUES ($1) ON CONFLICT DO NOTHING', [
    organisationId,
  ]);
  await tx.query('SELECT 1 FROM autorouter_state WHERE organisation_id = $1 FOR UPDATE', [organisationId]);
}

async function outcomesOf(tx: Tx, organisationId: number, id: string): Promise<ReadonlySet<string>> {
  const rows = await tx.query<{ example: StoredExample }[]>(
    'SELECT example FROM autorouter_example WHERE organisation_id = $1 AND example_id = $2',
    [organisationId, id],
  );
  return new Set(rows.flatMap(({ example }) => example.outcomes.map(({ model }) => model)));
}
