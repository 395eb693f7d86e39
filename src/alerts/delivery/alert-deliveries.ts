import { Injectable } from '@nestjs/common';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../kernel';
import { Database, Logger, Metrics, RepeatingJob } from '../../platform';
import { AlertChannels } from '../channels/alert-channels';
import { AlertClient } from '../channels/alert-client';
import { AlertMails, NO_RECIPIENTS } from '../channels/alert-mails';
import { AlertWording, localeOr, type NotifiableAlert } from '../channels/alert-wording';
import type { AlertEvent, Channel, DeliveryOutcome, SentChannelKind } from '../channels/channel';
import { AlertRules, type AlertRuleSet } from '../rules/alert-rules';
import { type DeliveryRow, listDueDeliveries, readDatabaseTime } from './alert-delivery.query';
import { finishDelivery, postponeChannel, postponeDelivery } from './alert-delivery.store';

const FIRST_PAUSE_MS = 15 * SECOND_MS;
const MAX_PAUSE_MS = HOUR_MS;
const MAX_ATTEMPTS = 30;
const MAX_AGE_MS = DAY_MS;

/**
 * True if the message would arrive too late: a firing alert that is already resolved, or the end of an alert never
 * reported.
 */
const isObsolete = ({ event, resolvedAt, isAcknowledged, isKnown }: DeliveryRow): boolean => {
  if (event === 'resolved') return !isKnown;
  if (event === 'acknowledged') return resolvedAt !== null || !isKnown;
  return resolvedAt !== null || (event === 'repeated' && isAcknowledged);
};

interface UnwantedDelivery {
  readonly kind: 'unwanted';
  readonly text: string;
}

/** Delivers alert messages at least once, with increasing pauses for up to a day. */
@Injectable()
export class AlertDeliveries {
  constructor(
    private readonly database: Database,
    private readonly channels: AlertChannels,
    private readonly client: AlertClient,
    private readonly mails: AlertMails,
    private readonly wording: AlertWording,
    private readonly rules: AlertRules,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  @RepeatingJob({ name: 'alert-deliveries', cron: '*/15 * * * * *' })
  async run(signal: AbortSignal): Promise<void> {
    await this.deliver(await readDatabaseTime(this.database), signal);
  }

  async deliver(now: Date, signal?: AbortSignal): Promise<void> {
    const due = await listDueDeliveries(this.database, now);
    if (due.length === 0) return;
    const [channels, rules] = await Promise.all([this.channels.enabled(), this.rules.loadAll()]);
    const byChannel = Map.groupBy(due, ({ channelId }) => channelId);
    // Channels run in parallel, so that a hanging one does not delay the others.
    await Promise.all(
      [...byChannel].map(([id, rows]) =>
        this.deliverTo(
          channels.find((channel) => channel.id === id),
          rows,
          { now, signal, rules },
        ).catch((error: unknown) => this.logger.warn('messages of alerts wait', { channel: id, error })),
      ),
    );
  }

  private async deliverTo(
    channel: Channel | undefined,
    rows: readonly DeliveryRow[],
    { now, signal, rules }: { now: Date; signal: AbortSignal | undefined; rules: AlertRuleSet },
  ): Promise<void> {
    for (const row of rows) {
      if (signal?.aborted === true) return;
      if (channel === undefined || isObsolete(row)) {
        await this.finish(row, 'dropped', null, now);
        this.count(channel, 'dropped');
        continue;
      }
      const { timeZone } = rules.settings(channel.organisationId);
      const outcome = await this.attempt(channel, row, timeZone);
      await this.recordOutcome(channel, row, outcome, now);
      // Later messages would fail as well.
      if (outcome?.kind === 'again' || outcome?.kind === 'refused') return;
    }
  }

  private async attempt(
    channel: Channel,
    row: DeliveryRow,
    timeZone: string,
  ): Promise<DeliveryOutcome | UnwantedDelivery | null> {
    const alert: NotifiableAlert = { ...row, id: row.alertId };
    if (channel.kind === 'mail') {
      if (row.event === 'acknowledged') return null;
      const count = await this.mails.send(channel, alert, row.event, `alert-${row.id}`);
      return count === 0
        ? { kind: 'unwanted', text: NO_RECIPIENTS }
        : { kind: 'delivered', text: `mails: ${count}` };
    }
    return this.post({ ...channel, kind: channel.kind }, alert, row.event, {
      id: `msg_alert_${row.id}`,
      timeZone,
    });
  }

  async post(
    {
      id,
      organisationId,
      kind,
      language,
    }: Pick<Channel, 'id' | 'organisationId' | 'language'> & {
      readonly kind: SentChannelKind;
    },
    alert: NotifiableAlert,
    event: AlertEvent | 'test',
    { id: messageId, timeZone }: { readonly id: string; readonly timeZone: string },
  ): Promise<DeliveryOutcome | null> {
    const target = await this.channels.targetOf(id);
    if (target === null) return { kind: 'again', text: 'the master key that sealed its address is missing' };
    const message = this.wording.of(alert, event, { locale: localeOr(language), timeZone });
    return this.client.send({ organisationId, kind }, target, { ...message, id: messageId });
  }

  private async recordOutcome(
    channel: Channel,
    row: DeliveryRow,
    outcome: DeliveryOutcome | UnwantedDelivery | null,
    now: Date,
  ): Promise<void> {
    if (outcome === null || outcome.kind === 'unwanted') {
      await this.finish(row, 'dropped', outcome?.text ?? null, now);
      this.count(channel, 'dropped');
      return;
    }
    if (outcome.kind === 'delivered') {
      await this.finish(row, 'delivered', null, now);
      this.count(channel, 'delivered');
      await this.channels.recordDelivery(channel.id, now);
      return;
    }
    const { text } = outcome;
    const isGone = outcome.kind === 'refused' && outcome.isGone === true;
    await this.channels.recordFailure(channel.id, now, text, isGone);
    const attempts = row.attempts + 1;
    const age = now.getTime() - row.createdAt.getTime();
    if (outcome.kind === 'refused' || attempts >= MAX_ATTEMPTS || age > MAX_AGE_MS) {
      this.logger.warn('a message of an alert is given up', {
        channel: channel.id,
        kind: channel.kind,
        words: text,
      });
      await this.finish(row, 'failed', text, now);
      this.count(channel, 'failed');
      return;
    }
    this.count(channel, 'retried');
    const backoffMs = Math.min(FIRST_PAUSE_MS * 2 ** row.attempts, MAX_PAUSE_MS);
    const dueAt = new Date(now.getTime() + (outcome.afterMs ?? backoffMs));
    await postponeDelivery(this.database, { ...row, attempts }, text, dueAt);
    // A pause requested by the receiver applies to all messages of the channel.
    if (outcome.afterMs !== undefined) await postponeChannel(this.database, channel.id, dueAt);
  }

  private async finish(
    { id, attempts }: DeliveryRow,
    outcome: 'delivered' | 'failed' | 'dropped',
    error: string | null,
    now: Date,
  ): Promise<void> {
    const triedAttempts = outcome === 'dropped' ? attempts : attempts + 1;
    await finishDelivery(this.database, { id, attempts: triedAttempts }, { outcome, error, doneAt: now });
  }

  private count(channel: Channel | undefined, outcome: string): void {
    if (channel !== undefined) this.metrics.alertDeliveries.inc({ channel: channel.kind, outcome });
  }
}
