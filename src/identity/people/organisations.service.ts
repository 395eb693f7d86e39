import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { ActivityLog, type Changes, changesOf } from '../../audit';
import { fault, type Scope, type UnknownFieldMode } from '../../kernel';
import { Database, type Page, Settings, type Tx } from '../../platform';
import { endPasswords, hasLinkedIdentity } from '../accounts';
import { Organisation } from '../organisation.entity';
import { UserAccount } from '../user-account.entity';
import {
  notFoundFault,
  assertVersion,
  nameTakenFault,
  notInOrganisationFault,
  type EditTarget,
} from './acting';
import {
  countOrganisationMembers,
  findOrganisation,
  type ListedOrganisation,
  lockOrganisationRow,
  type OrganisationFilter,
  organisationPage,
} from './organisation.query';

export interface OrganisationFields {
  readonly name?: string;
  readonly slug?: string;
  readonly billingExempt?: boolean;
  readonly billingUserId?: number | null;
  readonly ssoOnly?: boolean;
  readonly unknownFields?: UnknownFieldMode | null;
}

@Injectable()
export class Organisations {
  constructor(
    private readonly database: Database,
    @InjectRepository(Organisation) private readonly organisations: Repository<Organisation>,
    @InjectRepository(UserAccount) private readonly accounts: Repository<UserAccount>,
    private readonly activity: ActivityLog,
    private readonly settings: Settings,
  ) {}

  page(scope: Scope, filter: OrganisationFilter): Promise<Page<ListedOrganisation>> {
    return organisationPage(this.database, scope, filter);
  }

  async get(scope: Scope, id: number): Promise<ListedOrganisation> {
    const organisation = await findOrganisation(this.database, scope, id);
    if (organisation === undefined) throw notFoundFault('organisation');
    return organisation;
  }

  /** `work` runs in the same transaction, such as to set a budget, and returns its changes. */
  create(
    fields: { readonly name: string; readonly slug: string },
    work: (tx: Tx, id: number) => Promise<Changes>,
  ): Promise<number> {
    return this.database.transaction(async (tx) => {
      const organisations = tx.getRepository(Organisation);
      const organisation = organisations.create(fields);
      await organisations.insert(organisation).catch(refuseTakenSlug);
      const extraChanges = await work(tx, organisation.id);
      await this.activity.write(tx, {
        action: 'organisation.created',
        object: { type: 'organisation', id: organisation.id, label: organisation.name },
        concerns: { organisationId: organisation.id },
        changes: { ...changesOf(null, fields), ...extraChanges },
      });
      return organisation.id;
    });
  }

  /**
   * Refuses the change if the actor belongs to the organisation and, without a linked provider, would be locked out.
   */
  async refuseLockout(userId: number, organisationId: number): Promise<void> {
    const isMember = await this.accounts.existsBy({ id: userId, organisationId });
    if (!isMember || (await this.organisations.existsBy({ id: organisationId, ssoOnly: true }))) return;
    if (await hasLinkedIdentity(this.database.source.manager, userId)) return;
    throw fault('conflict', {
      param: 'sso_only',
      message:
        'You belong to this organisation: link your own account with the provider first, or you are shut out.',
      details: { reason: 'link-first' },
    });
  }

  change(
    scope: Scope,
    target: EditTarget,
    fields: OrganisationFields,
    work: (tx: Tx, id: number) => Promise<Changes>,
  ): Promise<Changes> {
    return this.database.transaction(async (tx) => {
      const organisation = await lockOrganisation(tx, scope, target.id);
      assertVersion(organisation, target);
      await refuseForeignPayer(tx, organisation.id, fields.billingUserId ?? null);
      if (fields.ssoOnly === true && !organisation.ssoOnly) await this.endPasswordsOf(tx, organisation.id);
      const changes = { ...changesOf(organisation, fields), ...(await work(tx, organisation.id)) };
      if (Object.keys(changes).length === 0) {
        this.activity.reportNoChange();
        return changes;
      }
      const version = organisation.version + 1;
      await tx
        .getRepository(Organisation)
        .update(organisation.id, { ...fields, version })
        .catch(refuseTakenSlug);
      await this.activity.write(tx, {
        action: 'organisation.changed',
        object: { type: 'organisation', id: organisation.id, label: organisation.name },
        concerns: { organisationId: organisation.id },
        changes,
        ...(target.reason === undefined ? {} : { reason: target.reason }),
      });
      return changes;
    });
  }

  /** Requires a provider, then ends sessions that passwords might have opened. */
  private async endPasswordsOf(tx: Tx, organisationId: number): Promise<void> {
    const { idp1Issuer, idp2Issuer } = this.settings;
    if (idp1Issuer === undefined && idp2Issuer === undefined)
      throw fault('conflict', {
        param: 'sso_only',
        message: 'No identity provider is set up (IDP1_ISSUER): no one could sign in.',
        details: { reason: 'no-provider' },
      });
    await endPasswords(tx, organisationId);
  }

  /** Only an empty organisation can be removed: without users, projects, keys and departments. */
  remove(scope: Scope, target: EditTarget, work: (tx: Tx, id: number) => Promise<void>): Promise<void> {
    return this.database.transaction(async (tx) => {
      const organisation = await lockOrganisation(tx, scope, target.id);
      assertVersion(organisation, target);
      await refuseNonEmpty(tx, organisation.id);
      await work(tx, organisation.id);
      await tx.getRepository(Organisation).delete(organisation.id);
      await this.activity.write(tx, {
        action: 'organisation.deleted',
        object: { type: 'organisation', id: organisation.id, label: organisation.name },
        concerns: { organisationId: organisation.id },
        changes: changesOf({ name: organisation.name, slug: organisation.slug }, null),
        ...(target.reason === undefined ? {} : { reason: target.reason }),
      });
    });
  }
}

export async function lockOrganisation(tx: Tx, scope: Scope, id: number): Promise<Organisation> {
  if (!(await lockOrganisationRow(tx, scope, id))) throw notFoundFault('organisation');
  return tx.getRepository(Organisation).findOneByOrFail({ id });
}

async function refuseNonEmpty(tx: Tx, id: number): Promise<void> {
  const counts = await countOrganisationMembers(tx, id);
  const remaining = Object.entries(counts).filter(([, count]) => count > 0);
  if (remaining.length === 0) return;
  const what = remaining.map(([name, count]) => `${count} ${name}`).join(', ');
  throw fault('conflict', {
    message: `This organisation still has ${what}. Move or merge them first.`,
    details: { reason: 'organisation-not-empty', ...counts },
  });
}

async function refuseForeignPayer(tx: Tx, organisationId: number, userId: number | null): Promise<void> {
  if (userId === null) return;
  const payer = await tx.getRepository(UserAccount).findOne({
    where: { id: userId, organisationId, status: 'active' },
    lock: { mode: 'for_key_share' },
  });
  if (payer === null) throw notInOrganisationFault('billing_user_id');
}

function refuseTakenSlug(error: unknown): never {
  const { constraint } = (error as { driverError?: { constraint?: string } }).driverError ?? {};
  if (constraint !== 'organisation_slug_key') throw error;
  throw nameTakenFault('slug', 'Another organisation has this short name.');
}
