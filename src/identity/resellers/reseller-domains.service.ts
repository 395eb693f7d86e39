import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { type Fault, fault, monotonicMs } from '../../kernel';
import { Database, OwnWrites, Settings, type Tx } from '../../platform';
import { Session } from '../session.entity';
import { type Accents, checkAccents } from './accent';
import {
  countDomains,
  findDomain,
  findPortalOfAddress,
  findPortalOfUser,
  listDomains,
  listDomainsOf,
  lockDomain,
  MAX_DOMAINS,
  readLogo,
  type ResellerDomainRow,
} from './reseller-domain.query';
import { deleteDomain, upsertDomain } from './reseller-domain.store';
import type { DomainFields } from './reseller-domain.store';

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
  async ofAccount(userId: number): Promise<ResellerDomain | undefined> {
    const row = await findPortalOfUser(this.database, userId);
    return row && domainOf(row);
  }

  async ofAddress(email: string): Promise<ResellerDomain | undefined> {
    const row = await findPortalOfAddress(this.database, email);
    return row && domainOf(row);
  }

  async ofOrganisation(organisationId: number): Promise<ResellerDomain[]> {
    return (await listDomainsOf(this.database, organisationId)).map(domainOf);
  }

  logo(host: string): Promise<Buffer | null> {
    return readLogo(this.database, host);
  }

  originOf({ host }: Pick<ResellerDomain, 'host'>): string {
    return `${new URL(this.settings.baseUrl).protocol}//${host}`;
  }

  /** Adds a host, or changes its branding. A host belongs to a single organisation. */
  async set(tx: Tx, organisationId: number, host: string, fields: DomainFields): Promise<void> {
    this.checkHost(host);
    if (fields.accents !== null) checkAccents(fields.accents);
    if (fields.logo) checkLogo(fields.logo);
    const before = await lockDomain(tx, host);
    if (before !== undefined && before.organisationId !== organisationId)
      throw hostTaken('This host belongs to another organisation.');
    if (before === undefined) {
      await refuseTooMany(tx);
      // Sessions of an earlier organisation's portal with this name must not work for the new one.
      await tx.getRepository(Session).delete({ host });
    }
    await upsertDomain(tx, organisationId, host, fields);
    const after = await findDomain(tx, host);
    const changes = changesOf(
      before === undefined ? null : auditFields(domainOf(before)),
      after === undefined ? null : auditFields(domainOf(after)),
    );
    await this.record(tx, 'organisation.domain-set', { organisationId, host, changes });
  }

  async remove(tx: Tx, organisationId: number, host: string): Promise<void> {
    if (!(await deleteDomain(tx, organisationId, host))) throw fault('not_found', { param: 'host' });
    await this.record(tx, 'organisation.domain-removed', {
      organisationId,
      host,
      changes: changesOf({ host }, null),
    });
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
    const rows = await listDomains(this.database);
    this.domainsByHost = new Map(rows.map((row) => [row.host, domainOf(row)]));
    this.readAt = monotonicMs();
  }
}

const domainOf = (row: ResellerDomainRow): ResellerDomain => ({
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
  if ((await countDomains(tx)) >= MAX_DOMAINS)
    throw fault('conflict', {
      message: `There are ${MAX_DOMAINS} hosts already.`,
      details: { reason: 'hosts-many', most: MAX_DOMAINS },
    });
}
