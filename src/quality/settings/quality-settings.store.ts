import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf, type NewActivity } from '../../audit';
import { refuseStale, versionOf } from '../../kernel';
import { Database, type Tx } from '../../platform';
import { type QualitySettings, usualQualitySettings } from './quality-settings';
import { applyToSamples } from './withdrawal';

/** Whose settings: an organisation's, a key's, or, where both are null, the platform's. */
export interface QualityOwner {
  readonly organisationId: number | null;
  readonly keyId: number | null;
}

/** Keeps what organisations and keys say about the judging of their answers; every change is on record. */
@Injectable()
export class QualitySettingsStore {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  /** What was set for this owner; as usual where nothing was. */
  async of({ organisationId, keyId }: QualityOwner): Promise<QualitySettings> {
    const [row] = await this.database.query<{ settings: Partial<QualitySettings> }>(
      `SELECT settings FROM engine_setting WHERE ${ofOwner}`,
      [organisationId, keyId],
    );
    return { ...usualQualitySettings, ...row?.settings };
  }

  /** Only what is given changes; `concerns` decides who reads of it, and `shown` is the version that was looked at. */
  async set(
    owner: QualityOwner,
    wanted: Partial<QualitySettings>,
    { label, concerns, shown }: Pick<NewActivity, 'concerns'> & { label: string; shown?: string | undefined },
  ): Promise<QualitySettings> {
    const given = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
    return this.database.transaction(async (tx) => {
      const before = await lockedSettings(tx, owner);
      refuseStale(shown, versionOf(before));
      const after = { ...before, ...given };
      const changes = changesOf(before, after);
      if (Object.keys(changes).length === 0) {
        this.activity.nothingChanged();
        return after;
      }
      await tx.query(
        `UPDATE engine_setting SET settings = settings || $3::jsonb, updated_at = now() WHERE ${ofOwner}`,
        [owner.organisationId, owner.keyId, JSON.stringify(given)],
      );
      await applyToSamples(tx, owner, after);
      await this.activity.write(tx, {
        action: 'qualitative.settings-changed',
        object: {
          type: owner.keyId === null ? 'setting' : 'key',
          id: owner.keyId ?? owner.organisationId ?? 'platform',
          label,
        },
        concerns,
        changes,
      });
      return after;
    });
  }
}

const ofOwner = `engine = 'qualitative' AND user_id IS NULL
  AND organisation_id IS NOT DISTINCT FROM $1 AND key_id IS NOT DISTINCT FROM $2`;

/** Changes of one owner's settings take turns. */
async function lockedSettings(tx: Tx, { organisationId, keyId }: QualityOwner): Promise<QualitySettings> {
  await tx.query(
    `INSERT INTO engine_setting (engine, organisation_id, key_id, settings)
     VALUES ('qualitative', $1, $2, '{}') ON CONFLICT ON CONSTRAINT engine_setting_once DO NOTHING`,
    [organisationId, keyId],
  );
  const [row] = await tx.query<{ settings: Partial<QualitySettings> }[]>(
    `SELECT settings FROM engine_setting WHERE ${ofOwner} FOR UPDATE`,
    [organisationId, keyId],
  );
  return { ...usualQualitySettings, ...row?.settings };
}
