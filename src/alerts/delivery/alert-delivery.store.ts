import type { Database } from '../../platform';
import type { DeliveryRow } from './alert-delivery.query';

type AttemptedDelivery = Pick<DeliveryRow, 'id' | 'attempts'>;

export async function postponeDelivery(
  database: Database,
  { id, attempts }: AttemptedDelivery,
  error: string,
  dueAt: Date,
): Promise<void> {
  await database.query(
    'UPDATE alert_delivery SET attempts = $2, last_error = $3, due_at = $4 WHERE id = $1',
    [id, attempts, error, dueAt],
  );
}

/** Postpones all messages of a channel that are due earlier. */
export async function postponeChannel(database: Database, channelId: number, dueAt: Date): Promise<void> {
  await database.query(
    'UPDATE alert_delivery SET due_at = greatest(due_at, $2) WHERE channel_id = $1 AND outcome IS NULL',
    [channelId, dueAt],
  );
}

interface FinishedDelivery {
  readonly outcome: 'delivered' | 'failed' | 'dropped';
  /** Null keeps the error of an earlier attempt. */
  readonly error: string | null;
  readonly doneAt: Date;
}

export async function finishDelivery(
  database: Database,
  { id, attempts }: AttemptedDelivery,
  { outcome, error, doneAt }: FinishedDelivery,
): Promise<void> {
  await database.query(
    `UPDATE alert_delivery SET outcome = $2, last_error = coalesce($3, last_error), done_at = $4, attempts = $5
      WHERE id = $1`,
    [id, outcome, error, doneAt, attempts],
  );
}
