import { Injectable } from '@nestjs/common';
import { Notifications, type Tx } from '../../platform';
import { type AnswerSignal, autoSignalChannel, writtenSignal } from '../../routing';

/**
 * Tells all nodes what was seen or said of an answer without a judge: it counts in what they believe of the reliability
 * of its model, for requests of the same organisation.
 */
@Injectable()
export class AnswerSignals {
  constructor(private readonly notifications: Notifications) {}

  /** Heard when the transaction commits. */
  async announce(
    tx: Tx,
    { organisationId, model }: { readonly organisationId: number | null; readonly model: string },
    { failed, answered }: Pick<AnswerSignal, 'failed' | 'answered'>,
  ): Promise<void> {
    if (organisationId === null) return;
    const signal = { organisationId, model, failed, answered };
    await this.notifications.notify(tx, autoSignalChannel, writtenSignal(signal));
  }
}
