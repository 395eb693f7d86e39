import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '../../platform';
import type { AlertOwner } from '../catalogue/kinds';
import { AlertDeliveries } from '../delivery/alert-deliveries';
import { AlertRules } from '../rules/alert-rules';
import { AlertChannels } from './alert-channels';
import { AlertMails, NOBODY } from './alert-mails';
import type { TellableAlert } from './alert-wording';
import type { Outcome } from './channel';

/** Sends a message that says it is a test through a channel as it is stored. */
@Injectable()
export class AlertTests {
  constructor(
    private readonly database: Database,
    private readonly channels: AlertChannels,
    private readonly deliveries: AlertDeliveries,
    private readonly mails: AlertMails,
    private readonly rules: AlertRules,
  ) {}

  /** Waits for the receiver, and gives what it said. */
  async run(owner: AlertOwner, id: number): Promise<Outcome> {
    const channel = await this.channels.get(owner, id);
    const alert = await this.testAlert(owner);
    const outcome = await this.send(channel, alert);
    await this.channels.putTestOnRecord(owner, channel, outcome.kind === 'delivered' ? null : outcome.words);
    return outcome;
  }

  private async send(
    channel: Awaited<ReturnType<AlertChannels['get']>>,
    alert: TellableAlert,
  ): Promise<Outcome> {
    const { kind } = channel;
    if (kind === 'mail') {
      const count = await this.mails.send(channel, alert, 'test', alert.id);
      return count === 0
        ? { kind: 'refused', words: NOBODY }
        : { kind: 'delivered', words: `mails: ${count}` };
    }
    const { timeZone } = (await this.rules.of(channel.organisationId)).settings;
    const sent = (event: 'test' | 'resolved') =>
      this.deliveries.post({ ...channel, kind }, alert, event, { id: `msg_${alert.id}_${event}`, timeZone });
    const outcome = (await sent('test')) ?? { kind: 'delivered', words: '' };
    // An incident of a test would wake people until somebody closed it.
    if (kind === 'pagerduty' && outcome.kind === 'delivered') await sent('resolved');
    return outcome;
  }

  private async testAlert(owner: AlertOwner): Promise<TellableAlert> {
    const [row] = await this.database.query<{ now: Date; name: string | null }>(
      'SELECT now() AS now, (SELECT name FROM organisation WHERE id = $1) AS name',
      [owner],
    );
    return {
      id: `test-${randomUUID()}`,
      organisationId: owner,
      organisationName: row!.name,
      kind: 'test',
      severity: 'info',
      facts: {},
      since: row!.now,
      resolvedAt: null,
    };
  }
}
