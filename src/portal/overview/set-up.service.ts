import { Injectable } from '@nestjs/common';
import { readCurrent } from '../../catalogue';
import {
  checkBaseUrl,
  checkCatalogue,
  type CheckFinding,
  isServedByRealSupplier,
  checkMail,
  checkSecrets,
  checkSupplierKeys,
  checkSuppliersReachable,
} from '../../checks';
import { MINUTE_MS } from '../../kernel';
import { Database, processEnvironment, Settings } from '../../platform';
import { SupplierStyles } from '../../routing';

export const setUpSteps = [
  'sign-in',
  'supplier',
  'model',
  'mail',
  'address',
  'secrets',
  'sandbox',
  'payments',
  'customer',
] as const;
export type SetUpStep = (typeof setUpSteps)[number];

export interface SetUp {
  readonly done: Readonly<Record<SetUpStep, boolean>>;
  /** Findings of `doctor` for steps that are not done. */
  readonly findings: Readonly<Partial<Record<SetUpStep, readonly CheckFinding[]>>>;
  /** Set if a supplier other than the sandbox serves a model, so that the sandbox can be removed. */
  readonly canRemoveSandbox: boolean;
  /** Set if the next start recreates the sandbox. */
  readonly isSandboxForced: boolean;
}

interface SetUpChecks {
  readonly findings: Readonly<Record<'supplier' | 'model' | 'mail' | 'address' | 'secrets', CheckFinding[]>>;
  readonly hasSandbox: boolean;
  readonly isServed: boolean;
}

interface SetUpRow {
  readonly signsIn: boolean;
  readonly hasCustomer: boolean;
  readonly revision: string;
}

const CACHE_MS = MINUTE_MS;

@Injectable()
export class SetUpService {
  private cache: {
    readonly revision: string;
    readonly until: number;
    readonly checks: Promise<SetUpChecks>;
  } | null = null;

  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly styles: SupplierStyles,
  ) {}

  async load(userId: number): Promise<SetUp> {
    const { revision, ...accounts } = await this.readRow(userId);
    const { findings, hasSandbox, isServed } = await this.getChecks(revision);
    const isOk = (list: readonly CheckFinding[]): boolean => list.every(({ verdict }) => verdict === 'ok');
    const { processor, processorSecretKey, processorWebhookSecret, sandbox } = this.settings;
    return {
      done: {
        'sign-in': accounts.signsIn,
        supplier: isOk(findings.supplier),
        model: isServed && isOk(findings.model),
        mail: isOk(findings.mail),
        address: isOk(findings.address),
        secrets: isOk(findings.secrets),
        sandbox: !hasSandbox,
        payments:
          processor === 'sandbox' ||
          (processorSecretKey !== undefined && processorWebhookSecret !== undefined),
        customer: accounts.hasCustomer,
      },
      findings,
      canRemoveSandbox: hasSandbox && isServed,
      isSandboxForced: sandbox === 'on',
    };
  }

  /**
   * Reruns the checks after a change of the catalogue. Otherwise returns the cached ones, refreshed in the background
   * after a minute.
   */
  private getChecks(revision: string): Promise<SetUpChecks> {
    const { cache } = this;
    const isCurrent = cache?.revision === revision;
    if (cache !== null && isCurrent && cache.until > Date.now()) return cache.checks;
    const checks = this.runChecks();
    this.cache = { revision, until: Date.now() + CACHE_MS, checks };
    checks.catch(() => (this.cache = null));
    return cache !== null && isCurrent ? cache.checks : checks;
  }

  private async runChecks(): Promise<SetUpChecks> {
    const { database, settings, styles } = this;
    const context = { database, settings, styles };
    const [current, paid, reachable, model, mailCheck] = await Promise.all([
      database.transaction((tx) => readCurrent(tx), { withoutActivity: 'reads alone' }),
      checkSupplierKeys(context),
      checkSuppliersReachable(context),
      checkCatalogue(context),
      checkMail(settings),
    ]);
    return {
      findings: {
        supplier: [paid, ...reachable],
        model: [model],
        mail: [mailCheck],
        address: [checkBaseUrl(settings, processEnvironment)],
        secrets: [checkSecrets(settings, processEnvironment)],
      },
      hasSandbox: [...current.providers.values()].some(({ style }) => style === 'sandbox'),
      isServed: isServedByRealSupplier(current),
    };
  }

  private async readRow(userId: number): Promise<SetUpRow> {
    const [row] = await this.database.query<SetUpRow>(
      `SELECT u.password_hash IS NOT NULL
                OR EXISTS (SELECT 1 FROM passkey p WHERE p.user_id = u.id)
                OR EXISTS (SELECT 1 FROM linked_identity e WHERE e.user_id = u.id) AS "signsIn",
              EXISTS (SELECT 1 FROM user_account c WHERE c.status = 'active'
                       AND c.role NOT IN ('platform_owner', 'platform_admin')) AS "hasCustomer",
              (SELECT revision::text FROM catalogue_revision) AS revision
         FROM user_account u WHERE u.id = $1`,
      [userId],
    );
    return row ?? { signsIn: false, hasCustomer: false, revision: '' };
  }
}
