import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, type Repository } from 'typeorm';
import { type ActivityActor, ActivityLog, type Changes, changesOf, type NewActivity } from '../../audit';
import { fault, parseJsonText } from '../../kernel';
import {
  Database,
  packSealed,
  SecretBox,
  type SealedColumn,
  type SecretLocation,
  type Tx,
  unpackSealed,
} from '../../platform';
import type { Locale } from '../../views';
import type { AlertOwner, Severity } from '../catalogue/kinds';
import { AlertChannel } from './alert-channel.entity';
import { lockChannelsOf, removeFromRules } from './alert-channel.store';
import type { Audience, Channel, ChannelKind, ChannelTarget } from './channel';

/** Maximum number of channels per owner, because each message goes to all of them. */
const MAX_CHANNELS = 20;

export interface ChannelInput {
  readonly name: string;
  readonly language: Locale;
  readonly audience: Audience;
  readonly leastSeverity: Severity;
  readonly enabled: boolean;
}

const placeOf = (id: number): SecretLocation => ({
  table: 'alert_channel',
  row: String(id),
  field: 'target',
  host: '',
});

/** Manages the channels of owners. Addresses and keys are sealed; only the host is readable. */
@Injectable()
export class AlertChannels {
  constructor(
    private readonly database: Database,
    @InjectRepository(AlertChannel) private readonly channels: Repository<AlertChannel>,
    private readonly box: SecretBox,
    private readonly activity: ActivityLog,
  ) {}

  of(owner: AlertOwner): Promise<Channel[]> {
    return this.channels.find({ where: ownedBy(owner), order: { id: 'ASC' } });
  }

  enabled(): Promise<Channel[]> {
    return this.channels.find({ where: { enabled: true }, order: { id: 'ASC' } });
  }

  async get(owner: AlertOwner, id: number): Promise<Channel> {
    return findChannel(await this.of(owner), id);
  }

  /** Null for an email channel, and if the master key is missing. */
  targetOf(id: number): Promise<ChannelTarget | null> {
    return this.readTarget(this.channels, id);
  }

  async create(
    owner: AlertOwner,
    kind: ChannelKind,
    input: ChannelInput,
    target: ChannelTarget | null,
    actor?: ActivityActor,
  ): Promise<number> {
    return this.database.transaction(async (tx) => {
      await lockChannelsOf(tx, owner);
      const existing = await channelsIn(tx, owner);
      if (existing.length >= MAX_CHANNELS)
        throw fault('conflict', {
          message: `There are ${MAX_CHANNELS} channels already. Remove one first.`,
          details: { reason: 'alert-channels', most: MAX_CHANNELS },
        });
      const channels = tx.getRepository(AlertChannel);
      const channel = channels.create({
        ...{ kind, ...input, organisationId: owner, host: hostOf(target) },
        secret: kind === 'mail' ? null : Buffer.alloc(0),
      });
      await channels.insert(channel);
      const { id } = channel;
      // The row comes first, because the seal is bound to the row's id.
      if (target !== null) await channels.update(id, { secret: this.seal(id, target) });
      await this.record(
        tx,
        'alert.channel-added',
        owner,
        id,
        input.name,
        changesOf(null, { kind, ...input }),
        {
          actor,
        },
      );
      return id;
    });
  }

  /** An empty target keeps the current one. */
  async change(
    owner: AlertOwner,
    id: number,
    input: ChannelInput,
    target: Partial<ChannelTarget>,
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      const before = findChannel(await channelsIn(tx, owner), id);
      const isNew = Object.keys(target).length > 0;
      const merged = isNew
        ? mergeTarget(await this.readTarget(tx.getRepository(AlertChannel), id), target)
        : null;
      const changes = {
        ...changesOf(inputOf(before), input),
        ...(merged === null
          ? {}
          : { host: [before.host, hostOf(merged)] as const, address: ['–', '…'] as const }),
      };
      if (Object.keys(changes).length === 0) return this.activity.reportNoChange();
      await tx.getRepository(AlertChannel).update(id, {
        ...input,
        ...(input.enabled && { lastError: null }),
        ...(merged !== null && { host: hostOf(merged), secret: this.seal(id, merged) }),
      });
      await this.record(tx, 'alert.channel-changed', owner, id, input.name, changes);
    });
  }

  async remove(owner: AlertOwner, id: number, actor?: ActivityActor): Promise<void> {
    await this.database.transaction(async (tx) => {
      const before = findChannel(await channelsIn(tx, owner), id);
      await tx.getRepository(AlertChannel).delete(id);
      await removeFromRules(tx, owner, id);
      const changes = changesOf({ kind: before.kind, ...inputOf(before) }, null);
      await this.record(tx, 'alert.channel-removed', owner, id, before.name, changes, { actor });
    });
  }

  async recordDelivery(id: number, succeededAt: Date): Promise<void> {
    await this.channels.update(id, { succeededAt, lastError: null });
  }

  /** A channel whose receiver is gone is disabled. */
  async recordFailure(id: number, failedAt: Date, lastError: string, isGone: boolean): Promise<void> {
    await this.channels.update(id, { failedAt, lastError, ...(isGone && { enabled: false }) });
  }

  async recordTest(owner: AlertOwner, { id, name }: Channel, error: string | null): Promise<void> {
    await this.database.transaction((tx) =>
      this.record(tx, 'alert.channel-tested', owner, id, name, {}, { reason: error ?? undefined }),
    );
  }

  private record(
    tx: Tx,
    action: NewActivity['action'],
    owner: AlertOwner,
    id: number,
    label: string,
    changes: Changes,
    {
      actor,
      reason,
    }: { readonly actor?: ActivityActor | undefined; readonly reason?: string | undefined } = {},
  ): Promise<void> {
    return this.activity.write(tx, {
      ...{ action, changes },
      object: { type: 'alert', id: `channel ${id}`, label },
      concerns: { organisationId: owner },
      ...(reason === undefined ? {} : { reason }),
      ...(actor === undefined ? {} : { actor }),
    });
  }

  private async readTarget(channels: Repository<AlertChannel>, id: number): Promise<ChannelTarget | null> {
    const channel = await channels.findOne({ where: { id }, select: { id: true, secret: true } });
    return channel?.secret ? this.open(id, channel.secret) : null;
  }

  private seal(id: number, target: ChannelTarget): Buffer {
    return packSealed(this.box.seal(JSON.stringify(target), placeOf(id)));
  }

  private open(id: number, secret: Buffer): ChannelTarget | null {
    const opened = this.box.open(unpackSealed(secret), placeOf(id));
    return opened.ok ? (parseJsonText(opened.value) as ChannelTarget) : null;
  }
}

const ownedBy = (owner: AlertOwner) => ({ organisationId: owner ?? IsNull() });

const channelsIn = (tx: Tx, owner: AlertOwner): Promise<Channel[]> =>
  tx.getRepository(AlertChannel).find({
    where: ownedBy(owner),
    order: { id: 'ASC' },
    lock: { mode: 'pessimistic_write' },
  });

function findChannel(channels: readonly Channel[], id: number): Channel {
  const channel = channels.find((each) => each.id === id);
  if (channel !== undefined) return channel;
  throw fault('not_found', { message: 'There is no such channel.', details: { reason: 'gone' } });
}

/** A target sealed with another master key is unreadable, and must be entered completely. */
function mergeTarget(stored: ChannelTarget | null, input: Partial<ChannelTarget>): ChannelTarget {
  const { url = stored?.url, key = stored?.key } = input;
  if (url === undefined)
    throw missingTargetField('url', 'The stored address cannot be read. Enter it again.');
  const isOtherHost = stored !== null && new URL(url).host !== new URL(stored.url).host;
  // A key is valid only for the host that it was entered for.
  if (isOtherHost && stored.key !== undefined && input.key === undefined)
    throw missingTargetField('key', 'Enter the key again: the address is of another host.');
  return { url, ...(key === undefined ? {} : { key }) };
}

const missingTargetField = (name: 'url' | 'key', message: string) =>
  fault('missing_fields', { param: name, message, details: { required: [name] } });

const hostOf = (target: ChannelTarget | null): string => (target === null ? '' : new URL(target.url).host);

const inputOf = ({ name, language, audience, leastSeverity, enabled }: Channel) => ({
  ...{ name, language, audience, leastSeverity, enabled },
});

export const sealedChannels: readonly SealedColumn[] = [
  {
    table: 'alert_channel',
    column: 'secret',
    where: 't.secret IS NOT NULL',
    place: { table: 'alert_channel', field: 'target', row: 't.id::text' },
  },
];
