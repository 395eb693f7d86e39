import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Database, Notifications, OwnWrites, readRows, type TableRow, type Tx } from '../../platform';
import {
  envelopeOf,
  isSampling,
  type QualityEnvelope,
  type QualitySettings,
  defaultQualitySettings,
  withinEnvelope,
} from './quality-settings';

const CHANNEL = 'quality_settings';

type QualitySettingRow = TableRow<'engine_setting', 'organisation_id, key_id'> & {
  readonly settings: Partial<QualitySettings>;
};

/** Key of a request; the key and its organisation must consent to evaluation. */
interface CallingKey {
  readonly organisationId: number;
  readonly keyId: number;
}

/** Copy of the organisations' decisions on this node: which are sampled, and which keys are excluded. */
@Injectable()
export class QualityPolicies implements OnApplicationBootstrap {
  private readonly logger = new Logger(QualityPolicies.name);
  private sampled: ReadonlyMap<number, QualitySettings> = new Map();
  private excluded: ReadonlySet<number> = new Set();
  private readsStarted = 0;
  private currentRead = 0;

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

  samplingOf(organisationId: number): QualitySettings | undefined {
    return this.sampled.get(organisationId);
  }

  isExcluded(keyId: number): boolean {
    return this.excluded.has(keyId);
  }

  /**
   * Reads the organisation's current settings, for decisions that must not use a copy. Returns null if the key does not
   * allow evaluation.
   */
  async consentOf({ organisationId, keyId }: CallingKey): Promise<QualitySettings | null> {
    return consentFrom(await this.database.rows<QualitySettingRow>(consentRows, [organisationId, keyId]));
  }

  /** Works like `consentOf`, and locks the settings until the transaction ends. */
  async lockConsent(tx: Tx, { organisationId, keyId }: CallingKey): Promise<QualitySettings | null> {
    return consentFrom(
      await readRows<QualitySettingRow>(tx, `${consentRows} FOR SHARE`, [organisationId, keyId]),
    );
  }

  /** Keeps the result of the read that started last, because it saw every change that an earlier one saw. */
  async reload(): Promise<void> {
    const readNumber = ++this.readsStarted;
    const rows = await this.database.rows<QualitySettingRow>(
      `SELECT organisation_id, key_id, settings FROM engine_setting WHERE engine = 'qualitative'`,
    );
    if (readNumber < this.currentRead) return;
    this.currentRead = readNumber;
    const envelope = platformEnvelope(rows);
    const sampled = new Map<number, QualitySettings>();
    const excluded = new Set<number>();
    for (const { organisationId, keyId, settings } of rows) {
      const effective = withinEnvelope({ ...defaultQualitySettings, ...settings }, envelope);
      if (keyId !== null && effective.excluded) excluded.add(keyId);
      if (organisationId !== null && isSampling(effective)) sampled.set(organisationId, effective);
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

function consentFrom(rows: readonly QualitySettingRow[]): QualitySettings | null {
  const isExcluded = rows.some(({ keyId, settings }) => keyId !== null && settings.excluded === true);
  const own = rows.find(({ organisationId }) => organisationId !== null);
  const settings = withinEnvelope({ ...defaultQualitySettings, ...own?.settings }, platformEnvelope(rows));
  return !isExcluded && isSampling(settings) ? settings : null;
}

const platformEnvelope = (rows: readonly QualitySettingRow[]): QualityEnvelope =>
  envelopeOf(rows.find(({ organisationId, keyId }) => organisationId === null && keyId === null)?.settings);
