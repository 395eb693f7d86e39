import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf, type NewActivity } from '../../audit';
import { Database } from '../../platform';
import { type QualitySettings, usualQualitySettings } from './quality-settings';

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
      `SELECT settings FROM engine_setting WHERE engine = 'qualitative' AND user_id IS NULL
          AND organisation_id IS NOT DISTINCT FROM $1 AND key_id IS NOT DISTINCT FROM $2`,
      [organisationId, keyId],
    );
    return { ...usualQualitySettings, ...row?.settings };
  }

  /** Only what is given changes; `concerns` decides who reads of it. */
  async set(
    owner: QualityOwner,
    wanted: Partial<QualitySettings>,
    { label, concerns }: Pick<NewActivity, 'concerns'> & { readonly label: string },
  ): Promise<QualitySettings> {
    const before = await this.of(owner);
    const given = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
    const after = { ...before, ...given };
    const changes = changesOf(before, after);
    if (Object.keys(changes).length === 0) {
      this.activity.nothingChanged();
      return after;
    }
    await this.database.transaction(async (tx) => {
      await tx.query(
        `INSERT INTO engine_setting (engine, organisation_id, key_id, settings)
         VALUES ('qualitative', $1, $2, $3::jsonb) ON CONFLICT ON CONSTRAINT engine_setting_once
         DO UPDATE SET settings = engine_setting.settings || $3::jsonb, updated_at = now()`,
        [owner.organisationId, owner.keyId, JSON.stringify(given)],
      );
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
    });
    return after;
  }
}
