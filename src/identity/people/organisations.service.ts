import { Injectable } from '@nestjs/common';
import { ActivityLog, type Changes, changesOf } from '../../audit';
import { fault, type Scope, type UnknownFieldMode } from '../../kernel';
import {
  Database,
  Keyset,
  type Page,
  type PageRequest,
  type TableRow,
  Settings,
  type Tx,
} from '../../platform';
import { endPasswords, hasLinkedIdentity } from '../accounts';
import { Organisation } from '../organisation.entity';
import {
  notFoundFault,
  assertVersion,
  nameTakenFault,
  notInOrganisationFault,
  type EditTarget,
} from './acting';
import { organisationsWithin } from './scope-conditions';

const COLUMNS =
  'o.id, o.name, o.slug, o.billing_exempt, o.billing_user_id, o.sso_only, o.unknown_fields, o.created_at, o.version';

export interface ListedOrganisation extends TableRow<'organisation', typeof COLUMNS> {
  readonly billingUser: string | null;
  readonly users: number;
  readonly keys: number;
  readonly departments: number;
  /** Excludes archived projects. */
  readonly projects: number;
}

export interface OrganisationFilter extends PageRequest {
  readonly text?: string | null;
}

export interface OrganisationFields {
  readonly name?: string;
  readonly slug?: string;
  readonly billingExempt?: boolean;
  readonly billingUserId?: number | null;
  readonly ssoOnly?: boolean;
  readonly unknownFields?: UnknownFieldMode | null;
}

const byId = new Keyset([{ sql: 'o.id', kind: 'integer' }], 'ascending');

const selection = `
  SELECT ${COLUMNS}, ${byId.positions}, payer.email AS billing_user,
         (SELECT count(*)::integer FROM user_account u WHERE u.organisation_id = o.id AND u.status <> 'deleted') AS users,
         (SELECT count(*)::integer FROM department d WHERE d.organisation_id = o.id) AS departments,
         (SELECT count(*)::integer FROM project p WHERE p.organisation_id = o.id AND p.archived_at IS NULL) AS projects,
         (SELECT count(*)::integer FROM api_key k LEFT JOIN user_account u ON u.id = k.user_id
           WHERE k.status = 'active' AND coalesce(k.organisation_id, u.organisation_id) = o.id) AS keys
    FROM organisation o LEFT JOIN user_account payer ON payer.id = o.billing_user_id`;

@Injectable()
export class Organisations {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
    private readonly settings: Settings,
  ) {}

  async page(scope: Scope, filter: OrganisationFilter): Promise<Page<ListedOrganisation>> {
    const within = organisationsWithin(scope, 3);
    const page = byId.clause(filter, 3 + within.parameters.length);
    const rows = await this.database.rows<ListedOrganisation>(
      `${selection} WHERE ($1::text IS NULL OR strpos(lower(o.name || ' ' || o.slug), lower($1)) > 0)
         AND ${within.sql} AND ${page.where} ORDER BY ${page.orderBy} LIMIT $2`,
      [filter.text ?? null, page.limit, ...within.parameters, ...page.parameters],
    );
    return byId.page(rows, filter);
  }

  async get(scope: Scope, id: number): Promise<ListedOrganisation> {
    const within = organisationsWithin(scope, 2);
    const [row] = await this.database.rows<ListedOrganisation>(
      `${selection} WHERE o.id = $1 AND ${within.sql}`,
      [id, ...within.parameters],
    );
    if (row === undefined) throw notFoundFault('organisation');
    return row;
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
    const rows = await this.database.query<object>(
      'SELECT 1 FROM user_account u JOIN organisation o ON o.id = u.organisation_id WHERE u.id = $1 AND o.id = $2 AND NOT o.sso_only',
      [userId, organisationId],
    );
    if (rows.length === 0 || (await hasLinkedIdentity(this.database.source.manager, userId))) return;
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
  const within = organisationsWithin(scope, 2);
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM organisation o WHERE o.id = $1 AND ${within.sql} FOR UPDATE`,
    [id, ...within.parameters],
  );
  if (rows.length === 0) throw notFoundFault('organisation');
  return tx.getRepository(Organisation).findOneByOrFail({ id });
}

async function refuseNonEmpty(tx: Tx, id: number): Promise<void> {
  const [counts] = await tx.query<Record<'users' | 'projects' | 'keys' | 'departments', number>[]>(
    `SELECT (SELECT count(*)::integer FROM user_account WHERE organisation_id = $1) AS users,
            (SELECT count(*)::integer FROM project WHERE organisation_id = $1) AS projects,
            (SELECT count(*)::integer FROM api_key WHERE organisation_id = $1) AS keys,
            (SELECT count(*)::integer FROM department WHERE organisation_id = $1) AS departments`,
    [id],
  );
  const remaining = Object.entries(counts ?? {}).filter(([, count]) => count > 0);
  if (remaining.length === 0) return;
  const what = remaining.map(([name, count]) => `${count} ${name}`).join(', ');
  throw fault('conflict', {
    message: `This organisation still has ${what}. Move or merge them first.`,
    details: { reason: 'organisation-not-empty', ...counts },
  });
}

async function refuseForeignPayer(tx: Tx, organisationId: number, userId: number | null): Promise<void> {
  if (userId === null) return;
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM user_account WHERE id = $1 AND organisation_id = $2 AND status = 'active' FOR KEY SHARE`,
    [userId, organisationId],
  );
  if (rows.length === 0) throw notInOrganisationFault('billing_user_id');
}

function refuseTakenSlug(error: unknown): never {
  const { constraint } = (error as { driverError?: { constraint?: string } }).driverError ?? {};
  if (constraint !== 'organisation_slug_key') throw error;
  throw nameTakenFault('slug', 'Another organisation has this short name.');
}
