import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '../../platform';
import type { AlertOwner } from '../catalogue/kinds';
import { AlertDeliveries } from '../delivery/alert-deliveries';
import { AlertRules } from '../rules/alert-rules';
import { AlertChannels } from './alert-channels';
import { AlertMails, NO_RECIPIENTS } from './alert-mails';
import type { NotifiableAlert } from './alert-wording';
import type { DeliveryOutcome } from './channel';

@Injectable()
export class AlertTests {
  constructor(
    private readonly database: Database,
    private readonly channels: AlertChannels,
    private readonly deliveries: AlertDeliveries,
    private readonly mails: AlertMails,
    private readonly rules: AlertRules,
  ) {}

  async run(owner: AlertOwner, id: number): Promise<DeliveryOutcome> {
    const channel = await this.channels.get(owner, id);
    const alert = await this.testAlert(owner);
    const outcome = await this.send(channel, alert);
    await this.channels.recordTest(owner, channel, outcome.kind === 'delivered' ? null : outcome.text);
    return outcome;
  }

  private async send(
    channel: Awaited<ReturnType<AlertChannels['get']>>,
    alert: NotifiableAlert,
  ): Promise<DeliveryOutcome> {
    const { kind } = channel;
    if (kind === 'mail') {
      const count = await this.mails.send(channel, alert, 'test', alert.id);
      return count === 0
        ? { kind: 'refused', text: NO_RECIPIENTS }
        : { kind: 'delivered', text: `mails: ${count}` };
    }
    const { timeZone } = (await this.rules.of(channel.organisationId)).settings;
    const sendEvent = (event: 'test' | 'resolved') =>
      this.deliveries.post({ ...channel, kind }, alert, event, { id: `msg_${alert.id}_${event}`, timeZone });
    const outcome = (await sendEvent('test')) ?? { kind: 'delivered', text: '' };
    // Resolves the test incident, which would otherwise stay open until an operator closed it.
    if (kind === 'pagerduty' && outcome.kind === 'delivered') await sendEvent('resolved');
    return outcome;
  }

  private async testAlert(owner: AlertOwner): Promise<NotifiableAlert> {
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
