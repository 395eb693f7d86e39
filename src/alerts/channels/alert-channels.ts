import { Injectable } from '@nestjs/common';
import { type ActivityActor, ActivityLog, type Changes, changesOf, type NewActivity } from '../../audit';
import { fault, parseJsonText } from '../../kernel';
import {
  Database,
  packSealed,
  readRows,
  SecretBox,
  type SealedColumn,
  type SecretLocation,
  type Tx,
  unpackSealed,
} from '../../platform';
import type { Locale } from '../../views';
import type { AlertOwner, Severity } from '../catalogue/kinds';
import type { Audience, Channel, ChannelKind, ChannelTarget } from './channel';

/** Maximum number of channels per owner, because each message goes to all of them. */
const MAX_CHANNELS = 20;

const COLUMNS = `id, organisation_id, kind, name, host, language, audience, least_severity, enabled, created_at,
  succeeded_at, failed_at, last_error`;

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
    private readonly box: SecretBox,
    private readonly activity: ActivityLog,
  ) {}

  of(owner: AlertOwner): Promise<Channel[]> {
    return this.database.rows<Channel>(
      `SELECT ${COLUMNS} FROM alert_channel WHERE organisation_id IS NOT DISTINCT FROM $1 ORDER BY id`,
      [owner],
    );
  }

  enabled(): Promise<Channel[]> {
    return this.database.rows<Channel>(`SELECT ${COLUMNS} FROM alert_channel WHERE enabled ORDER BY id`);
  }

  async get(owner: AlertOwner, id: number): Promise<Channel> {
    return findChannel(await this.of(owner), id);
  }

  /** Null for an email channel, and if the master key is missing. */
  async targetOf(id: number): Promise<ChannelTarget | null> {
    const [row] = await this.database.query<{ secret: Buffer | null }>(
      'SELECT secret FROM alert_channel WHERE id = $1',
      [id],
    );
    return row?.secret ? this.open(id, row.secret) : null;
  }

  async create(
    owner: AlertOwner,
    kind: ChannelKind,
    input: ChannelInput,
    target: ChannelTarget | null,
    actor?: ActivityActor,
  ): Promise<number> {
    return this.database.transaction(async (tx) => {
      // Serialises concurrent creations, so that the limit holds.
      await tx.query(`SELECT pg_advisory_xact_lock(hashtext('alert channels'), coalesce($1::integer, 0))`, [
        owner,
      ]);
      const existing = await channelsIn(tx, owner);
      if (existing.length >= MAX_CHANNELS)
        throw fault('conflict', {
          message: `There are ${MAX_CHANNELS} channels already. Remove one first.`,
          details: { reason: 'alert-channels', most: MAX_CHANNELS },
        });
      const [row] = await tx.query<{ id: number }[]>(
        `INSERT INTO alert_channel (organisation_id, kind, host, secret, name, language, audience, least_severity, enabled)
         VALUES ($1, $2, $3, CASE WHEN $2 <> 'mail' THEN ''::bytea END, $4, $5, $6, $7, $8) RETURNING id`,
        [owner, kind, hostOf(target), input.name, ...valuesOf(input)],
      );
      const { id } = row!;
      // The row comes first, because the seal is bound to the row's id.
      if (target !== null)
        await tx.query('UPDATE alert_channel SET secret = $2 WHERE id = $1', [id, this.seal(id, target)]);
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
      const merged = isNew ? mergeTarget(await this.readTarget(tx, id), target) : null;
      const changes = {
        ...changesOf(inputOf(before), input),
        ...(merged === null
          ? {}
          : { host: [before.host, hostOf(merged)] as const, address: ['–', '…'] as const }),
      };
      if (Object.keys(changes).length === 0) return this.activity.reportNoChange();
      await tx.query(
        `UPDATE alert_channel SET name = $2, language = $3, audience = $4, least_severity = $5, enabled = $6,
           last_error = CASE WHEN $6 THEN NULL ELSE last_error END WHERE id = $1`,
        [id, input.name, ...valuesOf(input)],
      );
      if (merged !== null)
        await tx.query('UPDATE alert_channel SET host = $2, secret = $3 WHERE id = $1', [
          id,
          hostOf(merged),
          this.seal(id, merged),
        ]);
      await this.record(tx, 'alert.channel-changed', owner, id, input.name, changes);
    });
  }

  async remove(owner: AlertOwner, id: number, actor?: ActivityActor): Promise<void> {
    await this.database.transaction(async (tx) => {
      const before = findChannel(await channelsIn(tx, owner), id);
      await tx.query('DELETE FROM alert_channel WHERE id = $1', [id]);
      // A rule limited to the removed channel applies to all channels again.
      await tx.query(
        `UPDATE alert_rule SET channels = nullif(array_remove(channels, $2), '{}')
          WHERE organisation_id IS NOT DISTINCT FROM $1 AND $2 = ANY (channels)`,
        [owner, id],
      );
      const changes = changesOf({ kind: before.kind, ...inputOf(before) }, null);
      await this.record(tx, 'alert.channel-removed', owner, id, before.name, changes, { actor });
    });
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

  private async readTarget(tx: Tx, id: number): Promise<ChannelTarget | null> {
    const [row] = await tx.query<{ secret: Buffer | null }[]>(
      'SELECT secret FROM alert_channel WHERE id = $1',
      [id],
    );
    return row?.secret ? this.open(id, row.secret) : null;
  }

  private seal(id: number, target: ChannelTarget | null): Buffer | null {
    return target === null ? null : packSealed(this.box.seal(JSON.stringify(target), placeOf(id)));
  }

  private open(id: number, secret: Buffer): ChannelTarget | null {
    const opened = this.box.open(unpackSealed(secret), placeOf(id));
    return opened.ok ? (parseJsonText(opened.value) as ChannelTarget) : null;
  }
}

const channelsIn = (tx: Tx, owner: AlertOwner): Promise<Channel[]> =>
  readRows<Channel>(
    tx,
    `SELECT ${COLUMNS} FROM alert_channel WHERE organisation_id IS NOT DISTINCT FROM $1 ORDER BY id FOR UPDATE`,
    [owner],
  );

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

const valuesOf = ({ language, audience, leastSeverity, enabled }: ChannelInput): unknown[] => [
  ...[language, audience, leastSeverity, enabled],
];

export const sealedChannels: readonly SealedColumn[] = [
  {
    table: 'alert_channel',
    column: 'secret',
    where: 't.secret IS NOT NULL',
    place: { table: 'alert_channel', field: 'target', row: 't.id::text' },
  },
];
