import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf, type NewActivity } from '../../audit';
import { rejectStale, versionOf } from '../../kernel';
import { Database, Notifications, readRows, type TableRow, type Tx } from '../../platform';
import type { AutoLevel, AutoLevels, AutoSettings } from './auto-settings';

/** Owner of settings; the platform has no id. */
export type AutoSettingsOwner =
  { readonly level: 'platform' } | { readonly level: Exclude<AutoLevel, 'platform'>; readonly id: number };

export interface AutoAudience {
  readonly organisationId: number | null;
  readonly userId: number | null;
  readonly keyId: number | null;
}

/** A null field resets the setting of this level. */
export type AutoSettingsChange = { readonly [Name in keyof AutoSettings]?: AutoSettings[Name] | null };

type AutoSettingRow = TableRow<'engine_setting', 'organisation_id, user_id, key_id'> & {
  readonly settings: AutoSettings;
};

export const autoSettingsChannel = 'auto_settings';

@Injectable()
export class AutoSettingsStore {
  private readonly listeners: (() => void)[] = [];

  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
    private readonly notifications: Notifications,
  ) {}

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  async of(owner: AutoSettingsOwner): Promise<AutoSettings> {
    const [row] = await this.database.rows<AutoSettingRow>(
      `SELECT settings FROM engine_setting WHERE ${ofOwner}`,
      columnsOf(owner),
    );
    return row?.settings ?? {};
  }

  async levels({ organisationId, userId, keyId }: AutoAudience): Promise<AutoLevels> {
    const rows = await this.database.rows<AutoSettingRow>(
      `SELECT organisation_id, user_id, key_id, settings FROM engine_setting
        WHERE engine = 'autorouter' AND (num_nonnulls(organisation_id, user_id, key_id) = 0
           OR organisation_id = $1 OR user_id = $2 OR key_id = $3)`,
      [organisationId, userId, keyId],
    );
    return Object.fromEntries(rows.map((row) => [levelOf(row), row.settings]));
  }

  /** Changes only the given fields; `concerns` decides who sees the activity. */
  async set(
    owner: AutoSettingsOwner,
    change: AutoSettingsChange,
    {
      label,
      shown,
      ...entry
    }: Pick<NewActivity, 'concerns' | 'actor'> & {
      readonly label: string;
      readonly shown?: string | undefined;
    },
  ): Promise<AutoSettings> {
    const definedFields = Object.fromEntries(
      Object.entries(change).filter(([, value]) => value !== undefined),
    );
    const settings = await this.database.transaction(async (tx) => {
      const before = await lockedSettings(tx, owner);
      rejectStale(shown, versionOf(before));
      const changes = changesOf(before, definedFields);
      const after = withoutNulls({ ...before, ...definedFields });
      if (Object.keys(changes).length === 0) {
        this.activity.reportNoChange();
        return after;
      }
      await tx.query(`UPDATE engine_setting SET settings = $4, updated_at = now() WHERE ${ofOwner}`, [
        ...columnsOf(owner),
        after,
      ]);
      await this.activity.write(tx, {
        action: 'autorouter.changed',
        object: {
          type: owner.level === 'key' ? 'key' : 'setting',
          id: owner.level === 'platform' ? 'platform' : owner.id,
          label,
        },
        ...entry,
        changes,
      });
      await this.notifications.notify(tx, autoSettingsChannel, owner.level);
      return after;
    });
    // The next request on this node can come before the announcement.
    for (const notifyListener of this.listeners) notifyListener();
    return settings;
  }
}

const ofOwner = `engine = 'autorouter' AND organisation_id IS NOT DISTINCT FROM $1
  AND user_id IS NOT DISTINCT FROM $2 AND key_id IS NOT DISTINCT FROM $3`;

const columnsOf = (owner: AutoSettingsOwner): (number | null)[] =>
  (['organisation', 'user', 'key'] as const).map((level) => (owner.level === level ? owner.id : null));

/** Serialises changes of one level. */
async function lockedSettings(tx: Tx, owner: AutoSettingsOwner): Promise<AutoSettings> {
  await tx.query(
    `INSERT INTO engine_setting (engine, organisation_id, user_id, key_id, settings)
     VALUES ('autorouter', $1, $2, $3, '{}') ON CONFLICT ON CONSTRAINT engine_setting_once DO NOTHING`,
    columnsOf(owner),
  );
  const [row] = await readRows<AutoSettingRow>(
    tx,
    `SELECT settings FROM engine_setting WHERE ${ofOwner} FOR UPDATE`,
    columnsOf(owner),
  );
  return row?.settings ?? {};
}

const withoutNulls = (settings: object): AutoSettings =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));

function levelOf({ organisationId, userId, keyId }: AutoSettingRow): AutoLevel {
  if (keyId !== null) return 'key';
  if (userId !== null) return 'user';
  return organisationId === null ? 'platform' : 'organisation';
}
