import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Database, Notifications, OwnWrites, readRows, type Row, type Tx } from '../../platform';
import {
  envelopeOf,
  isSampling,
  type QualityEnvelope,
  type QualitySettings,
  usualQualitySettings,
  withinEnvelope,
} from './quality-settings';

const CHANNEL = 'quality_settings';

type SettingRow = Row<'engine_setting', 'organisation_id, key_id'> & {
  readonly settings: Partial<QualitySettings>;
};

/** A key called with a request: it and its organisation have to agree to the evaluation. */
interface CallingKey {
  readonly organisationId: number;
  readonly keyId: number;
}

/** This node's copy of what organisations decided: which of them are sampled, and which keys are not. */
@Injectable()
export class QualityPolicies implements OnApplicationBootstrap {
  private readonly logger = new Logger(QualityPolicies.name);
  private sampled: ReadonlyMap<number, QualitySettings> = new Map();
  private excluded: ReadonlySet<number> = new Set();
  private readsBegun = 0;
  private readInForce = 0;

  constructor(
    private readonly database: Database,
    private readonly notifications: Notifications,
    writes: OwnWrites,
  ) {
    writes.add(() => this.reload());
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.notifications.on(CHANNEL, () => this.reloadSoon());
    this.notifications.onGap(() => this.reloadSoon());
    await this.reload();
  }

  /** It returns those of an organisation whose answers are sampled. */
  samplingOf(organisationId: number): QualitySettings | undefined {
    return this.sampled.get(organisationId);
  }

  isExcluded(keyId: number): boolean {
    return this.excluded.has(keyId);
  }

  /**
   * The organisation's settings as they count now, for a decision that must not come from a copy. It is null
   * where nothing of the key may be evaluated.
   */
  async consentOf({ organisationId, keyId }: CallingKey): Promise<QualitySettings | null> {
    return consentIn(await this.database.rows<SettingRow>(consentRows, [organisationId, keyId]));
  }

  /** The same, and it stays so until the transaction ends. */
  async consentWithin(tx: Tx, { organisationId, keyId }: CallingKey): Promise<QualitySettings | null> {
    return consentIn(await readRows<SettingRow>(tx, `${consentRows} FOR SHARE`, [organisationId, keyId]));
  }

  /** Of two reads under way, the one that began later counts: it saw every change that the other saw. */
  async reload(): Promise<void> {
    const read = ++this.readsBegun;
    const rows = await this.database.rows<SettingRow>(
      `SELECT organisation_id, key_id, settings FROM engine_setting WHERE engine = 'qualitative'`,
    );
    if (read < this.readInForce) return;
    this.readInForce = read;
    const envelope = platformEnvelope(rows);
    const sampled = new Map<number, QualitySettings>();
    const excluded = new Set<number>();
    for (const { organisationId, keyId, settings } of rows) {
      const whole = withinEnvelope({ ...usualQualitySettings, ...settings }, envelope);
      if (keyId !== null && whole.excluded) excluded.add(keyId);
      if (organisationId !== null && isSampling(whole)) sampled.set(organisationId, whole);
    }
    this.sampled = sampled;
    this.excluded = excluded;
  }

  private reloadSoon(): void {
    this.reload().catch((error: unknown) =>
      this.logger.warn(`The settings of quality reports cannot be read: ${String(error)}`),
    );
  }
}

const consentRows = `SELECT organisation_id, key_id, settings FROM engine_setting
  WHERE engine = 'qualitative' AND (organisation_id = $1 OR key_id = $2 OR num_nonnulls(organisation_id, user_id, key_id) = 0)`;

function consentIn(rows: readonly SettingRow[]): QualitySettings | null {
  const isExcluded = rows.some(({ keyId, settings }) => keyId !== null && settings.excluded === true);
  const own = rows.find(({ organisationId }) => organisationId !== null);
  const settings = withinEnvelope({ ...usualQualitySettings, ...own?.settings }, platformEnvelope(rows));
  return !isExcluded && isSampling(settings) ? settings : null;
}

/** The row of the platform has no owner. */
const platformEnvelope = (rows: readonly SettingRow[]): QualityEnvelope =>
  envelopeOf(rows.find(({ organisationId, keyId }) => organisationId === null && keyId === null)?.settings);
