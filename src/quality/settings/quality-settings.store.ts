import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf, type NewActivity } from '../../audit';
import { fault, rejectStale, versionOf } from '../../kernel';
import { Database, type Tx } from '../../platform';
import {
  envelopeOf,
  type QualityEnvelope,
  type QualityOwner,
  type QualitySettings,
  defaultQualitySettings,
  withinEnvelope,
} from './quality-settings';
import { applyToSamples } from './withdrawal';

@Injectable()
export class QualitySettingsStore {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  async find(owner: QualityOwner): Promise<QualitySettings> {
    const [row] = await this.database.query<StoredSettings>(
      `SELECT settings FROM engine_setting WHERE ${ownerCondition}`,
      [owner.organisationId, owner.keyId],
    );
    return mergeDefaults(owner, row);
  }

  envelope(): Promise<QualityEnvelope> {
    return this.find(PLATFORM);
  }

  /** Returns the settings of the organisation that are in force, limited by the operator's maximum. */
  async findEffective(organisationId: number): Promise<QualitySettings> {
    const [ownSettings, envelope] = await Promise.all([
      this.find({ organisationId, keyId: null }),
      this.envelope(),
    ]);
    return withinEnvelope(ownSettings, envelope);
  }

  /**
   * Changes only the given settings. `concerns` decides who can read the log entry; `shown` is the version that the
   * user saw.
   */
  async set(
    owner: QualityOwner,
    requested: Partial<QualitySettings>,
    { label, concerns, shown }: Pick<NewActivity, 'concerns'> & { label: string; shown?: string | undefined },
  ): Promise<QualitySettings> {
    const defined = Object.fromEntries(Object.entries(requested).filter(([, value]) => value !== undefined));
    return this.database.transaction(async (tx) => {
      const before = await lockSettings(tx, owner);
      rejectStale(shown, versionOf(before));
      const after = { ...before, ...defined };
      if (owner.organisationId !== null && after.monthly_budget !== before.monthly_budget)
        await requireWithinEnvelope(tx, after);
      const changes = changesOf(before, after);
      if (Object.keys(changes).length === 0) {
        this.activity.reportNoChange();
        return after;
      }
      await tx.query(
        `UPDATE engine_setting SET settings = settings || $3::jsonb, updated_at = now() WHERE ${ownerCondition}`,
        [owner.organisationId, owner.keyId, JSON.stringify(defined)],
      );
      await applyToSamples(tx, owner, after);
      // Deletes the automatically chosen judge if the owner sets or clears `judge_model`.
      if (after.judge_model !== before.judge_model)
        await tx.query('DELETE FROM quality_judge WHERE organisation_id = $1', [owner.organisationId]);
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

const PLATFORM: QualityOwner = { organisationId: null, keyId: null };

interface StoredSettings {
  readonly settings: Partial<QualitySettings>;
}

const ownerCondition = `engine = 'qualitative' AND user_id IS NULL
  AND organisation_id IS NOT DISTINCT FROM $1 AND key_id IS NOT DISTINCT FROM $2`;

async function lockSettings(tx: Tx, owner: QualityOwner): Promise<QualitySettings> {
  const { organisationId, keyId } = owner;
  await tx.query(
    `INSERT INTO engine_setting (engine, organisation_id, key_id, settings)
     VALUES ('qualitative', $1, $2, '{}') ON CONFLICT ON CONSTRAINT engine_setting_once DO NOTHING`,
    [organisationId, keyId],
  );
  const [row] = await tx.query<StoredSettings[]>(
    `SELECT settings FROM engine_setting WHERE ${ownerCondition} FOR UPDATE`,
    [organisationId, keyId],
  );
  return mergeDefaults(owner, row);
}

function mergeDefaults(owner: QualityOwner, row: StoredSettings | undefined): QualitySettings {
  const isPlatform = owner.organisationId === null && owner.keyId === null;
  return { ...defaultQualitySettings, ...row?.settings, ...(isPlatform ? envelopeOf(row?.settings) : {}) };
}

async function requireWithinEnvelope(tx: Tx, { monthly_budget: requested }: QualitySettings): Promise<void> {
  const [row] = await tx.query<StoredSettings[]>(
    `SELECT settings FROM engine_setting WHERE ${ownerCondition}`,
    [null, null],
  );
  const { monthly_budget: most } = envelopeOf(row?.settings);
  if (requested <= most) return;
  throw fault('validation_error', {
    param: 'monthly_budget',
    message: `The operator allows at most ${most} dollars a month.`,
    details: { reason: 'evaluation-budget', most },
  });
}
