import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { type Fault, fault, monotonicMs } from '../../kernel';
import { Database, OwnWrites, readRows, type TableRow, Settings, type Tx } from '../../platform';
import { closestAddress, hasAddress } from '../account-address';
import { type Accents, checkAccents } from './accent';
import { isProven } from './host-proof';

export interface ResellerDomain {
  readonly host: string;
  readonly organisationId: number;
  readonly name: string;
  readonly accents: Accents | null;
  readonly hasLogo: boolean;
  /** Changes with the branding, so that browsers fetch it again. */
  readonly version: string;
  readonly isProviderOnly: boolean;
  /** Sign-ins are handed over, and links in emails lead, only to proven hosts. */
  readonly isProven: boolean;
}

export interface DomainFields {
  readonly name: string;
  readonly accents: Accents | null;
  /** A PNG; null removes the logo, undefined keeps it. */
  readonly logo?: Buffer | null | undefined;
}

const COLUMNS = 'd.host, d.organisation_id, d.name, d.accent, d.accent_dark, d.changed_at';

type DomainRow = TableRow<'reseller_domain', typeof COLUMNS> & {
  readonly hasLogo: boolean;
  readonly ssoOnly: boolean;
  readonly isProven: boolean;
};

const SELECTION = `
  SELECT ${COLUMNS}, d.logo IS NOT NULL AS has_logo, o.sso_only, ${isProven('d')} AS is_proven
    FROM reseller_domain d JOIN organisation o ON o.id = d.organisation_id`;

const MAX_DOMAINS = 1_000;
/** Maximum time until a change reaches every other node. */
const MAX_STALENESS_MS = 1_000;
const MAX_LOGO_BYTES = 64 * 1024;
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const HOST =
  /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?(?::\d{2,5})?$/;

/** Hosts of resellers. Every page needs them, so a node reads them at most once a second. */
@Injectable()
export class ResellerDomains {
  private domainsByHost: ReadonlyMap<string, ResellerDomain> = new Map();
  private readAt = Number.NEGATIVE_INFINITY;
  private reading?: Promise<void>;

  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
    private readonly settings: Settings,
    writes: OwnWrites,
  ) {
    writes.add(() => this.expire());
  }

  /** While the database is unavailable, the last known hosts stay in use. */
  async find(host: string): Promise<ResellerDomain | undefined> {
    if (monotonicMs() - this.readAt > MAX_STALENESS_MS) {
      this.reading ??= this.read().finally(() => (this.reading = undefined));
      await this.reading.catch(() => undefined);
    }
    return this.domainsByHost.get(host.toLowerCase());
  }

  /**
   * An account's own portal: the oldest proven host of its organisation, to which links in emails lead. Platform
   * administrators sign in only at BASE_URL.
   */
  ofAccount(userId: number): Promise<ResellerDomain | undefined> {
    return this.ownPortal('$1', userId);
  }

  ofAddress(email: string): Promise<ResellerDomain | undefined> {
    const account = `SELECT a.id FROM user_account a WHERE ${hasAddress('a.email', '$1')}
                      ORDER BY ${closestAddress('a.email', '$1')} LIMIT 1`;
    return this.ownPortal(`(${account})`, email);
  }

  async ofOrganisation(organisationId: number): Promise<ResellerDomain[]> {
    const rows = await this.database.rows<DomainRow>(
      `${SELECTION} WHERE d.organisation_id = $1 ORDER BY d.created_at, d.host LIMIT ${MAX_DOMAINS}`,
      [organisationId],
    );
    return rows.map(domainOf);
  }

  async logo(host: string): Promise<Buffer | null> {
    const [row] = await this.database.query<TableRow<'reseller_domain', 'logo'>>(
      'SELECT logo FROM reseller_domain WHERE host = $1',
      [host],
    );
    return row?.logo ?? null;
  }

  originOf({ host }: Pick<ResellerDomain, 'host'>): string {
    return `${new URL(this.settings.baseUrl).protocol}//${host}`;
  }

  /** Adds a host, or changes its branding. A host belongs to a single organisation. */
  async set(tx: Tx, organisationId: number, host: string, fields: DomainFields): Promise<void> {
    this.checkHost(host);
    if (fields.accents !== null) checkAccents(fields.accents);
    if (fields.logo) checkLogo(fields.logo);
    const [before] = (
      await readRows<DomainRow>(tx, `${SELECTION} WHERE d.host = $1 FOR UPDATE OF d`, [host])
    ).map(domainOf);
    if (before !== undefined && before.organisationId !== organisationId)
      throw hostTaken('This host belongs to another organisation.');
    if (before === undefined) {
      await refuseTooMany(tx);
      // Sessions of an earlier organisation's portal with this name must not work for the new one.
      await tx.query('DELETE FROM session WHERE host = $1', [host]);
    }
    await tx.query(
      `INSERT INTO reseller_domain AS d (host, organisation_id, name, accent, accent_dark, logo)
       VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (host) DO UPDATE SET name = $3, accent = $4, accent_dark = $5,
         logo = CASE WHEN $7 THEN excluded.logo ELSE d.logo END, changed_at = clock_timestamp()`,
      [
        host,
        organisationId,
        fields.name,
        fields.accents?.light ?? null,
        fields.accents?.dark ?? null,
        fields.logo ?? null,
        fields.logo !== undefined,
      ],
    );
    const [after] = (await readRows<DomainRow>(tx, `${SELECTION} WHERE d.host = $1`, [host])).map(domainOf);
    const changes = changesOf(
      before === undefined ? null : auditFields(before),
      after === undefined ? null : auditFields(after),
    );
    await this.record(tx, 'organisation.domain-set', { organisationId, host, changes });
  }

  async remove(tx: Tx, organisationId: number, host: string): Promise<void> {
    const [rows] = await tx.query<[object[], number]>(
      'DELETE FROM reseller_domain WHERE host = $1 AND organisation_id = $2 RETURNING host',
      [host, organisationId],
    );
    if (rows.length === 0) throw fault('not_found', { param: 'host' });
    await this.record(tx, 'organisation.domain-removed', {
      organisationId,
      host,
      changes: changesOf({ host }, null),
    });
  }

  private async ownPortal(account: string, value: unknown): Promise<ResellerDomain | undefined> {
    const rows = await this.database.rows<DomainRow>(
      `${SELECTION} JOIN user_account u ON u.organisation_id = d.organisation_id
        WHERE u.id = ${account} AND u.role NOT IN ('platform_admin', 'platform_owner') AND ${isProven('d')}
        ORDER BY d.created_at, d.host LIMIT 1`,
      [value],
    );
    return rows.map(domainOf)[0];
  }

  private checkHost(host: string): void {
    const base = new URL(this.settings.baseUrl);
    const origin = `${base.protocol}//${host}`;
    const isHost = HOST.test(host) && URL.canParse(origin) && new URL(origin).host === host;
    if (!isHost)
      throw fault('validation_error', {
        param: 'host',
        message: 'A host is a name such as models.reseller.example.',
        details: { reason: 'host' },
      });
    if (host === base.host || this.settings.portalOrigins.includes(new URL(origin).origin))
      throw hostTaken('This host is one of the installation itself.');
  }

  private record(
    tx: Tx,
    action: 'organisation.domain-set' | 'organisation.domain-removed',
    {
      organisationId,
      host,
      changes,
    }: { organisationId: number; host: string; changes: ReturnType<typeof changesOf> },
  ): Promise<void> {
    const object = { type: 'organisation', id: organisationId, label: host } as const;
    return this.activity.write(tx, { action, object, concerns: { organisationId }, changes });
  }

  private async expire(): Promise<void> {
    // A read in progress might have started before the change.
    await this.reading?.catch(() => undefined);
    this.readAt = Number.NEGATIVE_INFINITY;
  }

  private async read(): Promise<void> {
    const rows = await this.database.rows<DomainRow>(
      `${SELECTION} ORDER BY d.created_at LIMIT ${MAX_DOMAINS}`,
    );
    this.domainsByHost = new Map(rows.map((row) => [row.host, domainOf(row)]));
    this.readAt = monotonicMs();
  }
}

const domainOf = (row: DomainRow): ResellerDomain => ({
  host: row.host,
  organisationId: row.organisationId,
  name: row.name,
  accents:
    row.accent === null || row.accentDark === null ? null : { light: row.accent, dark: row.accentDark },
  hasLogo: row.hasLogo,
  version: createHash('sha256').update(row.changedAt.toISOString()).digest('hex').slice(0, 12),
  isProviderOnly: row.ssoOnly,
  isProven: row.isProven,
});

const auditFields = ({ host, name, accents, hasLogo, version }: ResellerDomain) => ({
  host,
  name,
  accent: accents?.light ?? null,
  accent_dark: accents?.dark ?? null,
  logo: hasLogo ? version : null,
});

function checkLogo(logo: Buffer): void {
  if (logo.length > MAX_LOGO_BYTES || !logo.subarray(0, PNG.length).equals(PNG)) throw invalidLogo();
}

export const invalidLogo = (): Fault =>
  fault('validation_error', {
    param: 'logo',
    message: 'A logo is a PNG of 64 KB at most.',
    details: { reason: 'logo' },
  });

const hostTaken = (message: string): Fault =>
  fault('conflict', { param: 'host', message, details: { reason: 'host-taken' } });

async function refuseTooMany(tx: Tx): Promise<void> {
  const [row] = await tx.query<{ count: number }[]>('SELECT count(*)::integer AS count FROM reseller_domain');
  if ((row?.count ?? 0) >= MAX_DOMAINS)
    throw fault('conflict', {
      message: `There are ${MAX_DOMAINS} hosts already.`,
      details: { reason: 'hosts-many', most: MAX_DOMAINS },
    });
}
