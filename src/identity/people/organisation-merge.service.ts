import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { atLeast, type Fault, fault, platformScope, type UserRole } from '../../kernel';
import {
  BeforeOrganisationMerge,
  Database,
  HooksService,
  OnOrganisationMerge,
  type OrganisationMerger,
  type TableRow,
  type Tx,
} from '../../platform';
import { Organisation } from '../organisation.entity';
import { SessionsService } from '../sessions.service';
import { notFoundFault, notInOrganisationFault } from './acting';
import { lockOrganisation } from './organisations.service';

type MergeMember = TableRow<'user_account', 'id, email, role'> & { readonly name: string };

export interface MergeData {
  readonly organisation: { readonly id: number; readonly name: string };
  readonly members: readonly MergeMember[];
  readonly leaders: readonly MergeMember[];
  readonly users: number;
  readonly keys: number;
  readonly projects: number;
  readonly departments: number;
  readonly billingUserId: number | null;
  readonly billingUser: string | null;
}

export interface MergePlan {
  readonly targetId: number;
  readonly sourceIds: readonly number[];
  /** Payer of the merged organisation; null if each member pays. */
  readonly billingUserId: number | null;
  readonly roles: ReadonlyMap<number, UserRole>;
  readonly reason?: string;
}

const MAX_MEMBERS = 1_000;
const MAX_LEADERS = 500;
const LEADER_ROLES: readonly UserRole[] = ['org_admin', 'org_owner'];
const MAX_SOURCES = 20;

/** Departments keep their users; if two have the same name, that of the source gets its organisation's slug added. */
const renameDepartments = `
  UPDATE department d SET name = left(d.name, 60) || ' (' || left(o.slug, 30) || ' ' || d.id || ')'
    FROM organisation o WHERE o.id = d.organisation_id AND d.organisation_id = ANY ($1::integer[]) AND (
      EXISTS (SELECT FROM department t WHERE t.organisation_id = $2 AND t.name = d.name)
      OR EXISTS (SELECT FROM department t WHERE t.organisation_id = ANY ($1::integer[]) AND t.name = d.name AND t.id < d.id))`;

/** A single statement moves both, because a user and their department refer to each other's organisation. */
const moveUsers = `
  WITH moved AS (
    UPDATE department SET organisation_id = $2, version = version + 1 WHERE organisation_id = ANY ($1::integer[])),
  invited AS (UPDATE invite SET organisation_id = $2 WHERE organisation_id = ANY ($1::integer[]))
  UPDATE user_account SET organisation_id = $2, version = version + 1 WHERE organisation_id = ANY ($1::integer[])`;

/**
 * Merges several organisations into one: everything of the sources goes to the target, or nothing does. Other modules
 * move their data by `@OnOrganisationMerge()`.
 */
@Injectable()
export class OrganisationMerge {
  constructor(
    private readonly database: Database,
    private readonly sessions: SessionsService,
    private readonly activity: ActivityLog,
    private readonly hooks: HooksService,
  ) {}

  async data(id: number): Promise<MergeData> {
    const [row] = await this.database.query<
      Record<'id' | 'users' | 'keys' | 'projects' | 'departments', number> & {
        name: string;
        billing_user_id: number | null;
        billing_user: string | null;
      }
    >(
      `SELECT o.id, o.name, o.billing_user_id,
              (SELECT u.email FROM user_account u WHERE u.id = o.billing_user_id) AS billing_user,
              (SELECT count(*)::integer FROM user_account u
                WHERE u.organisation_id = o.id AND u.status <> 'deleted') AS users,
              (SELECT count(*)::integer FROM api_key k WHERE k.organisation_id = o.id) AS keys,
              (SELECT count(*)::integer FROM project p WHERE p.organisation_id = o.id) AS projects,
              (SELECT count(*)::integer FROM department d WHERE d.organisation_id = o.id) AS departments
         FROM organisation o WHERE o.id = $1`,
      [id],
    );
    if (row === undefined) throw notFoundFault('organisation');
    const { name, users, keys, projects, departments } = row;
    return {
      organisation: { id, name },
      members: await this.members(id, MAX_MEMBERS),
      leaders: await this.members(id, MAX_LEADERS, LEADER_ROLES),
      users,
      keys,
      projects,
      departments,
      billingUserId: row.billing_user_id,
      billingUser: row.billing_user,
    };
  }

  private members(organisationId: number, limit: number, roles: readonly UserRole[] | null = null) {
    return this.database.query<MergeMember>(
      `SELECT id, display_name AS name, email, role FROM user_account
        WHERE organisation_id = $1 AND status <> 'deleted' AND ($2::text[] IS NULL OR role = ANY ($2::text[]))
        ORDER BY lower(email) LIMIT $3`,
      [organisationId, roles, limit],
    );
  }

  async merge(plan: MergePlan, mayGrantRole: (role: UserRole) => boolean): Promise<void> {
    refuseInvalidPlan(plan);
    await this.prepare(plan);
    const followUps: (() => Promise<void>)[] = [];
    const afterwards: OrganisationMerger['afterwards'] = (work) => void followUps.push(work);
    await this.database.transaction(async (tx) => {
      const { target, sources } = await lockAll(tx, plan);
      const sourceIds = sources.map(({ id }) => id);
      await this.applyRoles(tx, plan, sourceIds, mayGrantRole);
      await this.sessions.endAllIn(tx, sourceIds);
      await tx.query(renameDepartments, [sourceIds, target.id]);
      await tx.query(moveUsers, [sourceIds, target.id]);
      await tx.query(
        'UPDATE project SET organisation_id = $2, version = version + 1 WHERE organisation_id = ANY ($1::integer[])',
        [sourceIds, target.id],
      );
      await tx.query(
        'UPDATE reseller_domain SET organisation_id = $2 WHERE organisation_id = ANY ($1::integer[])',
        [sourceIds, target.id],
      );
      await this.setPayer(tx, plan, target);
      const payers = [target, ...sources].flatMap(({ billingUserId }) => billingUserId ?? []);
      const { billingUserId } = plan;
      for (const handler of this.hooks.handlersOf(OnOrganisationMerge)) {
        await handler(tx, { sourceIds, targetId: target.id, payers, billingUserId, afterwards });
      }
      await tx.query('DELETE FROM organisation WHERE id = ANY ($1::integer[])', [sourceIds]);
      await this.activity.write(tx, {
        action: 'organisation.merged',
        object: { type: 'organisation', id: target.id, label: target.name },
        concerns: { organisationId: target.id },
        changes: {
          merged_organisations: [sources.map(({ id, name }) => `${name} (${id})`), null],
          billing_user_id: [target.billingUserId, plan.billingUserId],
        },
        ...(plan.reason === undefined ? {} : { reason: plan.reason }),
      });
    });
    for (const followUp of followUps) await followUp();
  }

  private async prepare({ targetId, sourceIds, billingUserId }: MergePlan): Promise<void> {
    if (billingUserId === null) return;
    const payers = await this.database.query<{ id: number }>(
      `SELECT DISTINCT billing_user_id AS id FROM organisation
        WHERE id = ANY ($1::integer[]) AND billing_user_id <> $2`,
      [[targetId, ...sourceIds], billingUserId],
    );
    for (const handler of this.hooks.handlersOf(BeforeOrganisationMerge)) {
      await handler(payers.map(({ id }) => id));
    }
  }

  private async setPayer(tx: Tx, { billingUserId }: MergePlan, target: Organisation): Promise<void> {
    if (billingUserId !== null) {
      const rows = await tx.query<unknown[]>(
        `SELECT 1 FROM user_account WHERE id = $1 AND organisation_id = $2 AND status = 'active'`,
        [billingUserId, target.id],
      );
      if (rows.length === 0) throw notInOrganisationFault('billing_user_id');
    }
    await tx.getRepository(Organisation).update(target.id, { billingUserId, version: target.version + 1 });
  }

  /** Assigns each role to an owner or administrator of a source, with an activity entry for each. */
  private async applyRoles(
    tx: Tx,
    { roles, targetId, reason }: MergePlan,
    sourceIds: readonly number[],
    mayGrantRole: (role: UserRole) => boolean,
  ): Promise<void> {
    for (const [userId, role] of roles) {
      if (!mayGrantRole(role) || atLeast(role, 'platform_admin')) throw fault('permission_denied');
      const [user] = await tx.query<
        (Pick<MergeMember, 'email' | 'role'> & { departmentId: number | null })[]
      >(
        `SELECT email, role, department_id AS "departmentId" FROM user_account
          WHERE id = $1 AND organisation_id = ANY ($2::integer[]) AND role = ANY ($3::text[]) FOR UPDATE`,
        [userId, sourceIds, LEADER_ROLES],
      );
      if (user === undefined) throw leaderNotFound(userId);
      if (user.role === role) continue;
      await tx.query('UPDATE user_account SET role = $2 WHERE id = $1', [userId, role]);
      await this.activity.write(tx, {
        action: 'user.role-changed',
        object: { type: 'account', id: userId, label: user.email },
        concerns: { userId, organisationId: targetId, departmentId: user.departmentId },
        changes: { role: [user.role, role] },
        ...(reason === undefined ? {} : { reason }),
      });
    }
  }
}

const leaderNotFound = (userId: number): Fault =>
  fault('not_found', {
    param: `role_${userId}`,
    message: 'A merge gives roles to owners and administrators of the organisations that end.',
    details: { reason: 'gone' },
  });

function refuseInvalidPlan({ targetId, sourceIds }: MergePlan): void {
  if (sourceIds.length === 0 || sourceIds.length > MAX_SOURCES) {
    throw fault('invalid_request', {
      param: 'source_org_ids',
      message: `Name 1 to ${MAX_SOURCES} organisations to merge.`,
      details: { reason: 'merge-sources', most: MAX_SOURCES },
    });
  }
  if (sourceIds.includes(targetId)) {
    throw fault('conflict', {
      param: 'source_org_ids',
      message: 'An organisation cannot be merged into itself.',
      details: { reason: 'merge-itself' },
    });
  }
}

/** Locks by id, so that two merges cannot deadlock. */
async function lockAll(
  tx: Tx,
  { targetId, sourceIds }: MergePlan,
): Promise<{ target: Organisation; sources: Organisation[] }> {
  const all = new Map<number, Organisation>();
  for (const id of [...new Set([targetId, ...sourceIds])].sort((one, other) => one - other)) {
    all.set(id, await lockOrganisation(tx, platformScope, id));
  }
  const target = all.get(targetId);
  if (target === undefined) throw notFoundFault('organisation');
  all.delete(targetId);
  return { target, sources: [...all.values()] };
}
