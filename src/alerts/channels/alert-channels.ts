import { Injectable } from '@nestjs/common';
import { type ActivityActor, ActivityLog, type Changes, changesOf, type NewActivity } from '../../audit';
import { fault, parseJsonText } from '../../kernel';
import {
  Database,
  packSealed,
  readRows,
  SecretBox,
  type SealedColumn,
  type SecretPlace,
  type Tx,
  unpackSealed,
} from '../../platform';
import type { Locale } from '../../views';
import type { AlertOwner, Severity } from '../catalogue/kinds';
import type { Audience, Channel, ChannelKind, Target } from './channel';

/** An owner has so many channels at most: each message goes to all of them. */
const MOST_CHANNELS = 20;

const COLUMNS = `id, organisation_id, kind, name, host, language, audience, least_severity, enabled, created_at,
  succeeded_at, failed_at, last_error`;

export interface ChannelWish {
  readonly name: string;
  readonly language: Locale;
  readonly audience: Audience;
  readonly leastSeverity: Severity;
  readonly enabled: boolean;
}

const placeOf = (id: number): SecretPlace => ({
  table: 'alert_channel',
  row: String(id),
  field: 'target',
  host: '',
});

/** The channels of an owner. Addresses and keys are sealed, and only their host is shown. */
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

  /** Those of all owners that are in use. */
  enabled(): Promise<Channel[]> {
    return this.database.rows<Channel>(`SELECT ${COLUMNS} FROM alert_channel WHERE enabled ORDER BY id`);
  }

  async get(owner: AlertOwner, id: number): Promise<Channel> {
    return found(await this.of(owner), id);
  }

  /** Null for a channel of mails, and where the master key is not at hand. */
  async targetOf(id: number): Promise<Target | null> {
    const [row] = await this.database.query<{ secret: Buffer | null }>(
      'SELECT secret FROM alert_channel WHERE id = $1',
      [id],
    );
    return row?.secret ? this.open(id, row.secret) : null;
  }

  async create(
    owner: AlertOwner,
    kind: ChannelKind,
    wish: ChannelWish,
    target: Target | null,
    actor?: ActivityActor,
  ): Promise<number> {
    return this.database.transaction(async (tx) => {
      // Two that are made at once take turns.
      await tx.query(`SELECT pg_advisory_xact_lock(hashtext('alert channels'), coalesce($1::integer, 0))`, [
        owner,
      ]);
      const there = await channelsIn(tx, owner);
      if (there.length >= MOST_CHANNELS)
        throw fault('conflict', {
          message: `There are ${MOST_CHANNELS} channels already. Remove one first.`,
          details: { reason: 'alert-channels', most: MOST_CHANNELS },
        });
      const [made] = await tx.query<{ id: number }[]>(
        `INSERT INTO alert_channel (organisation_id, kind, host, secret, name, language, audience, least_severity, enabled)
         VALUES ($1, $2, $3, CASE WHEN $2 <> 'mail' THEN ''::bytea END, $4, $5, $6, $7, $8) RETURNING id`,
        [owner, kind, hostOf(target), wish.name, ...valuesOf(wish)],
      );
      const { id } = made!;
      // What is sealed belongs to its row, so that the row comes first.
      if (target !== null)
        await tx.query('UPDATE alert_channel SET secret = $2 WHERE id = $1', [id, this.seal(id, target)]);
      await this.note(tx, 'alert.channel-added', owner, id, wish.name, changesOf(null, { kind, ...wish }), {
        actor,
      });
      return id;
    });
  }

  /** Without a target the present one stays. */
  async change(owner: AlertOwner, id: number, wish: ChannelWish, target: Partial<Target>): Promise<void> {
    await this.database.transaction(async (tx) => {
      const before = found(await channelsIn(tx, owner), id);
      const isNew = Object.keys(target).length > 0;
      const merged = isNew ? wholeTarget(await this.storedIn(tx, id), target) : null;
      const changes = {
        ...changesOf(wishOf(before), wish),
        ...(merged === null
          ? {}
          : { host: [before.host, hostOf(merged)] as const, address: ['–', '…'] as const }),
      };
      if (Object.keys(changes).length === 0) return this.activity.nothingChanged();
      await tx.query(
        `UPDATE alert_channel SET name = $2, language = $3, audience = $4, least_severity = $5, enabled = $6,
           last_error = CASE WHEN $6 THEN NULL ELSE last_error END WHERE id = $1`,
        [id, wish.name, ...valuesOf(wish)],
      );
      if (merged !== null)
        await tx.query('UPDATE alert_channel SET host = $2, secret = $3 WHERE id = $1', [
          id,
          hostOf(merged),
          this.seal(id, merged),
        ]);
      await this.note(tx, 'alert.channel-changed', owner, id, wish.name, changes);
    });
  }

  async remove(owner: AlertOwner, id: number, actor?: ActivityActor): Promise<void> {
    await this.database.transaction(async (tx) => {
      const before = found(await channelsIn(tx, owner), id);
      await tx.query('DELETE FROM alert_channel WHERE id = $1', [id]);
      // A rule that named this channel alone goes back to all of them.
      await tx.query(
        `UPDATE alert_rule SET channels = nullif(array_remove(channels, $2), '{}')
          WHERE organisation_id IS NOT DISTINCT FROM $1 AND $2 = ANY (channels)`,
        [owner, id],
      );
      const gone = changesOf({ kind: before.kind, ...wishOf(before) }, null);
      await this.note(tx, 'alert.channel-removed', owner, id, before.name, gone, { actor });
    });
  }

  /** A test goes to people's systems, and so stands in the log. */
  async putTestOnRecord(owner: AlertOwner, { id, name }: Channel, error: string | null): Promise<void> {
    await this.database.transaction((tx) =>
      this.note(tx, 'alert.channel-tested', owner, id, name, {}, { reason: error ?? undefined }),
    );
  }

  private note(
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

  private async storedIn(tx: Tx, id: number): Promise<Target | null> {
    const [row] = await tx.query<{ secret: Buffer | null }[]>(
      'SELECT secret FROM alert_channel WHERE id = $1',
      [id],
    );
    return row?.secret ? this.open(id, row.secret) : null;
  }

  private seal(id: number, target: Target | null): Buffer | null {
    return target === null ? null : packSealed(this.box.seal(JSON.stringify(target), placeOf(id)));
  }

  private open(id: number, secret: Buffer): Target | null {
    const opened = this.box.open(unpackSealed(secret), placeOf(id));
    return opened.ok ? (parseJsonText(opened.value) as Target) : null;
  }
}

const channelsIn = (tx: Tx, owner: AlertOwner): Promise<Channel[]> =>
  readRows<Channel>(
    tx,
    `SELECT ${COLUMNS} FROM alert_channel WHERE organisation_id IS NOT DISTINCT FROM $1 ORDER BY id FOR UPDATE`,
    [owner],
  );

function found(channels: readonly Channel[], id: number): Channel {
  const channel = channels.find((each) => each.id === id);
  if (channel !== undefined) return channel;
  throw fault('not_found', { message: 'There is no such channel.', details: { reason: 'gone' } });
}

/** What is stored cannot be read without the master key it was sealed with: then all of it is entered anew. */
function wholeTarget(stored: Target | null, given: Partial<Target>): Target {
  const { url = stored?.url, key = stored?.key } = given;
  if (url === undefined) throw missing('url', 'The stored address cannot be read. Enter it again.');
  const isElsewhere = stored !== null && new URL(url).host !== new URL(stored.url).host;
  // A key belongs to the host that it was entered for.
  if (isElsewhere && stored.key !== undefined && given.key === undefined)
    throw missing('key', 'Enter the key again: the address is of another host.');
  return { url, ...(key === undefined ? {} : { key }) };
}

const missing = (name: 'url' | 'key', message: string) =>
  fault('missing_fields', { param: name, message, details: { required: [name] } });

const hostOf = (target: Target | null): string => (target === null ? '' : new URL(target.url).host);

const wishOf = ({ name, language, audience, leastSeverity, enabled }: Channel) => ({
  ...{ name, language, audience, leastSeverity, enabled },
});

const valuesOf = ({ language, audience, leastSeverity, enabled }: ChannelWish): unknown[] => [
  ...[language, audience, leastSeverity, enabled],
];

/** A change of the master key seals these anew. */
export const sealedChannels: readonly SealedColumn[] = [
  {
    table: 'alert_channel',
    column: 'secret',
    where: 't.secret IS NOT NULL',
    place: { table: 'alert_channel', field: 'target', row: 't.id::text' },
  },
];
