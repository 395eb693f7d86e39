import { Injectable } from '@nestjs/common';
import { Notifications, type Tx } from '../../platform';
import { type AnswerSignal, autoSignalChannel, formatSignal } from '../../autorouter';

/**
 * Announces feedback and retries to all nodes. The signals change the estimated reliability of the replying model for
 * requests of the same organisation.
 */
@Injectable()
export class AnswerSignals {
  constructor(private readonly notifications: Notifications) {}

  /** Takes effect when the transaction commits. */
  async announce(
    tx: Tx,
    { organisationId, model }: { readonly organisationId: number | null; readonly model: string },
    { failed, answered }: Pick<AnswerSignal, 'failed' | 'answered'>,
  ): Promise<void> {
    if (organisationId === null) return;
    const signal = { organisationId, model, failed, answered };
    await this.notifications.notify(tx, autoSignalChannel, formatSignal(signal));
  }
}
