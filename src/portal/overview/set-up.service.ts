import { Injectable } from '@nestjs/common';
import { readCurrent } from '../../catalogue';
import {
  baseAddress,
  catalogueLoaded,
  type Finding,
  isServedByReal,
  mail,
  secretsFit,
  suppliersPaid,
  suppliersReachable,
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
  /** The checks of `doctor` say this of steps that are not done. */
  readonly findings: Readonly<Partial<Record<SetUpStep, readonly Finding[]>>>;
  /** A supplier other than the sandbox serves a model, so the sandbox can go. */
  readonly mayRemoveSandbox: boolean;
  /** The sandbox comes back at the next start. */
  readonly isSandboxKept: boolean;
}

interface Examined {
  readonly findings: Readonly<Record<'supplier' | 'model' | 'mail' | 'address' | 'secrets', Finding[]>>;
  readonly hasSandbox: boolean;
  readonly isServed: boolean;
}

interface Facts {
  readonly signsIn: boolean;
  readonly hasCustomer: boolean;
  /** It is the revision of the catalogue. */
  readonly revision: string;
}

const KEPT_MS = MINUTE_MS;

/** The checks of `doctor` tell how far this installation is set up. */
@Injectable()
export class SetUpState {
  private kept: {
    readonly revision: string;
    readonly until: number;
    readonly found: Promise<Examined>;
  } | null = null;

  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly styles: SupplierStyles,
  ) {}

  async of(userId: number): Promise<SetUp> {
    const { revision, ...people } = await this.facts(userId);
    const { findings, hasSandbox, isServed } = await this.examined(revision);
    const isOk = (list: readonly Finding[]): boolean => list.every(({ verdict }) => verdict === 'ok');
    const { processor, processorSecretKey, processorWebhookSecret, sandbox } = this.settings;
    return {
      done: {
        'sign-in': people.signsIn,
        supplier: isOk(findings.supplier),
        model: isServed && isOk(findings.model),
        mail: isOk(findings.mail),
        address: isOk(findings.address),
        secrets: isOk(findings.secrets),
        sandbox: !hasSandbox,
        payments:
          processor === 'sandbox' ||
          (processorSecretKey !== undefined && processorWebhookSecret !== undefined),
        customer: people.hasCustomer,
      },
      findings,
      mayRemoveSandbox: hasSandbox && isServed,
      isSandboxKept: sandbox === 'on',
    };
  }

  /** It looks again after a change of the catalogue, and otherwise behind the answer once a minute. */
  private examined(revision: string): Promise<Examined> {
    const { kept } = this;
    const isOfNow = kept?.revision === revision;
    if (kept !== null && isOfNow && kept.until > Date.now()) return kept.found;
    const found = this.examine();
    this.kept = { revision, until: Date.now() + KEPT_MS, found };
    found.catch(() => (this.kept = null));
    return kept !== null && isOfNow ? kept.found : found;
  }

  private async examine(): Promise<Examined> {
    const { database, settings, styles } = this;
    const context = { database, settings, styles };
    const [current, paid, reachable, model, mails] = await Promise.all([
      database.transaction((tx) => readCurrent(tx), { withoutActivity: 'reads alone' }),
      suppliersPaid(context),
      suppliersReachable(context),
      catalogueLoaded(context),
      mail(settings),
    ]);
    return {
      findings: {
        supplier: [paid, ...reachable],
        model: [model],
        mail: [mails],
        address: [baseAddress(settings, processEnvironment)],
        secrets: [secretsFit(settings, processEnvironment)],
      },
      hasSandbox: [...current.providers.values()].some(({ style }) => style === 'sandbox'),
      isServed: isServedByReal(current),
    };
  }

  private async facts(userId: number): Promise<Facts> {
    const [row] = await this.database.query<Facts>(
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
