import { Injectable } from '@nestjs/common';
import { ActivityLog, type ActionName, changesOf, type NewActivity } from '../../audit';
import { Database } from '../../platform';

export const availabilities = ['off', 'admins', 'everyone'] as const;

export interface QualitativeSettings {
  readonly availability: (typeof availabilities)[number];
  readonly sampling_percent: number;
  readonly content_retention_days: number;
  readonly redaction: boolean;
}

interface EngineSettings {
  readonly qualitative: QualitativeSettings;
}
export type Engine = keyof EngineSettings;

/** Of the platform, where both are null. */
export interface SettingOwner {
  readonly organisationId: number | null;
  readonly keyId: number | null;
}

const usualSettings: EngineSettings = {
  qualitative: { availability: 'off', sampling_percent: 0, content_retention_days: 0, redaction: true },
};

const actions: Readonly<Record<Engine, ActionName>> = {
  qualitative: 'qualitative.settings-changed',
};

/** Keeps how quality reports shall work, until this version has an engine that does it. */
@Injectable()
export class EngineSettingsStore {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  /** What was set for this owner; as usual where nothing was. */
  async of<Name extends Engine>(engine: Name, owner: SettingOwner): Promise<EngineSettings[Name]> {
    const [row] = await this.database.query<{ settings: Partial<EngineSettings[Name]> }>(
      `SELECT settings FROM engine_setting
        WHERE engine = $1 AND organisation_id IS NOT DISTINCT FROM $2 AND key_id IS NOT DISTINCT FROM $3`,
      [engine, owner.organisationId, owner.keyId],
    );
    return { ...usualSettings[engine], ...row?.settings };
  }

  /** Only what is given changes; `concerns` decides who reads of it. */
  async set<Name extends Engine>(
    engine: Name,
    owner: SettingOwner,
    wanted: Partial<EngineSettings[Name]>,
    { label, concerns }: Pick<NewActivity, 'concerns'> & { readonly label: string },
  ): Promise<EngineSettings[Name]> {
    const before = await this.of(engine, owner);
    const given = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
    const after = { ...before, ...given };
    const changes = changesOf(before, after);
    if (Object.keys(changes).length === 0) {
      this.activity.nothingChanged();
      return after;
    }
    await this.database.transaction(async (tx) => {
      await tx.query(
        `INSERT INTO engine_setting (engine, organisation_id, key_id, settings) VALUES ($1, $2, $3, $4::jsonb)
         ON CONFLICT ON CONSTRAINT engine_setting_once
         DO UPDATE SET settings = engine_setting.settings || $5::jsonb, updated_at = now()`,
        [engine, owner.organisationId, owner.keyId, JSON.stringify(after), JSON.stringify(given)],
      );
      await this.activity.write(tx, {
        action: actions[engine],
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
