import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Database, Notifications } from '../../platform';
import { isSampling, type QualitySettings, usualQualitySettings } from './quality-settings';

const CHANNEL = 'quality_settings';

interface Row {
  readonly organisation_id: number | null;
  readonly key_id: number | null;
  readonly settings: Partial<QualitySettings>;
}

/** This node's copy of what organisations decided: which of them are sampled, and which keys are not. */
@Injectable()
export class QualityPolicies implements OnApplicationBootstrap {
  private readonly logger = new Logger(QualityPolicies.name);
  private sampled: ReadonlyMap<number, QualitySettings> = new Map();
  private excluded: ReadonlySet<number> = new Set();

  constructor(
    private readonly database: Database,
    private readonly notifications: Notifications,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.notifications.on(CHANNEL, () => this.reloadSoon());
    this.notifications.onGap(() => this.reloadSoon());
    await this.reload();
  }

  /** Of an organisation whose answers are sampled. */
  samplingOf(organisationId: number): QualitySettings | undefined {
    return this.sampled.get(organisationId);
  }

  isExcluded(keyId: number): boolean {
    return this.excluded.has(keyId);
  }

  /** As they are stored now, for a decision that must not come from a copy. */
  async of(organisationId: number): Promise<QualitySettings> {
    const [row] = await this.database.query<Row>(
      `SELECT settings FROM engine_setting WHERE engine = 'qualitative' AND organisation_id = $1`,
      [organisationId],
    );
    return { ...usualQualitySettings, ...row?.settings };
  }

  async reload(): Promise<void> {
    const rows = await this.database.query<Row>(
      `SELECT organisation_id, key_id, settings FROM engine_setting WHERE engine = 'qualitative'`,
    );
    const sampled = new Map<number, QualitySettings>();
    const excluded = new Set<number>();
    for (const { organisation_id: organisationId, key_id: keyId, settings } of rows) {
      const whole = { ...usualQualitySettings, ...settings };
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
