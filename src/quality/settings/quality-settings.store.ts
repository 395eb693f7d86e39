import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf, type NewActivity } from '../../audit';
import { fault, refuseStale, versionOf } from '../../kernel';
import { Database, type Tx } from '../../platform';
import {
  envelopeOf,
  type QualityEnvelope,
  type QualityOwner,
  type QualitySettings,
  usualQualitySettings,
  withinEnvelope,
} from './quality-settings';
import { applyToSamples } from './withdrawal';

/** Keeps what organisations and keys say about the judging of their answers; every change is on record. */
@Injectable()
export class QualitySettingsStore {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  /** These settings were made for this owner; they are the usual ones where nothing was set. */
  async of(owner: QualityOwner): Promise<QualitySettings> {
    const [row] = await this.database.query<KeptSettings>(
      `SELECT settings FROM engine_setting WHERE ${ofOwner}`,
      [owner.organisationId, owner.keyId],
    );
    return wholeSettings(owner, row);
  }

  /** The operator lets organisations have at most this. */
  envelope(): Promise<QualityEnvelope> {
    return this.of(PLATFORM);
  }

  /** These settings of the organisation are in force as far as the operator lets them. */
  async inForce(organisationId: number): Promise<QualitySettings> {
    const [own, envelope] = await Promise.all([this.of({ organisationId, keyId: null }), this.envelope()]);
    return withinEnvelope(own, envelope);
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
      if (owner.organisationId !== null && after.monthly_budget !== before.monthly_budget)
        await refuseAboveEnvelope(tx, after);
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
      // An owner who names a judge, or takes the name back, lets the kept choice go.
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

interface KeptSettings {
  readonly settings: Partial<QualitySettings>;
}

const ofOwner = `engine = 'qualitative' AND user_id IS NULL
  AND organisation_id IS NOT DISTINCT FROM $1 AND key_id IS NOT DISTINCT FROM $2`;

/** Changes of one owner's settings take turns. */
async function lockedSettings(tx: Tx, owner: QualityOwner): Promise<QualitySettings> {
  const { organisationId, keyId } = owner;
  await tx.query(
    `INSERT INTO engine_setting (engine, organisation_id, key_id, settings)
     VALUES ('qualitative', $1, $2, '{}') ON CONFLICT ON CONSTRAINT engine_setting_once DO NOTHING`,
    [organisationId, keyId],
  );
  const [row] = await tx.query<KeptSettings[]>(
    `SELECT settings FROM engine_setting WHERE ${ofOwner} FOR UPDATE`,
    [organisationId, keyId],
  );
  return wholeSettings(owner, row);
}

function wholeSettings(owner: QualityOwner, row: KeptSettings | undefined): QualitySettings {
  const isPlatform = owner.organisationId === null && owner.keyId === null;
  return { ...usualQualitySettings, ...row?.settings, ...(isPlatform ? envelopeOf(row?.settings) : {}) };
}

async function refuseAboveEnvelope(tx: Tx, { monthly_budget: wanted }: QualitySettings): Promise<void> {
  const [row] = await tx.query<KeptSettings[]>(`SELECT settings FROM engine_setting WHERE ${ofOwner}`, [
    null,
    null,
  ]);
  const { monthly_budget: most } = envelopeOf(row?.settings);
  if (wanted <= most) return;
  throw fault('validation_error', {
    param: 'monthly_budget',
    message: `The operator allows at most ${most} dollars a month.`,
    details: { reason: 'evaluation-budget', most },
  });
}
