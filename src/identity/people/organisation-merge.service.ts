import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { ActivityLog } from '../../audit';
import { atLeast, type Fault, fault, platformScope, type UserRole } from '../../kernel';
import {
  BeforeOrganisationMerge,
  Database,
  HooksService,
  OnOrganisationMerge,
  type OrganisationMerger,
  type Tx,
} from '../../platform';
import { Organisation } from '../organisation.entity';
import { SessionsService } from '../sessions.service';
import { UserAccount } from '../user-account.entity';
import { notFoundFault, notInOrganisationFault } from './acting';
import {
  findMergeTotals,
  listFormerPayers,
  listMergeMembers,
  type MergeMember,
  type MergeTotals,
} from './organisation-merge.query';
import { moveMembers } from './organisation-merge.store';
import { lockOrganisation } from './organisations.service';

export interface MergeData extends Omit<MergeTotals, 'name'> {
  readonly organisation: { readonly id: number; readonly name: string };
  readonly members: readonly MergeMember[];
  readonly leaders: readonly MergeMember[];
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
    const row = await findMergeTotals(this.database, id);
    if (row === undefined) throw notFoundFault('organisation');
    const { name, ...totals } = row;
    return {
      organisation: { id, name },
      members: await listMergeMembers(this.database, id, MAX_MEMBERS),
      leaders: await listMergeMembers(this.database, id, MAX_LEADERS, LEADER_ROLES),
      ...totals,
    };
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
      await moveMembers(tx, sourceIds, target.id);
      await this.setPayer(tx, plan, target);
      const payers = [target, ...sources].flatMap(({ billingUserId }) => billingUserId ?? []);
      const { billingUserId } = plan;
      for (const handler of this.hooks.handlersOf(OnOrganisationMerge)) {
        await handler(tx, { sourceIds, targetId: target.id, payers, billingUserId, afterwards });
      }
      await tx.getRepository(Organisation).delete(sourceIds);
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
    const payers = await listFormerPayers(this.database, [targetId, ...sourceIds], billingUserId);
    for (const handler of this.hooks.handlersOf(BeforeOrganisationMerge)) await handler(payers);
  }

  private async setPayer(tx: Tx, { billingUserId }: MergePlan, target: Organisation): Promise<void> {
    if (billingUserId !== null) {
      const payer = { id: billingUserId, organisationId: target.id, status: 'active' } as const;
      if (!(await tx.getRepository(UserAccount).existsBy(payer)))
        throw notInOrganisationFault('billing_user_id');
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
      const accounts = tx.getRepository(UserAccount);
      const user = await accounts.findOne({
        where: { id: userId, organisationId: In(sourceIds), role: In(LEADER_ROLES) },
        lock: { mode: 'pessimistic_write' },
      });
      if (user === null) throw leaderNotFound(userId);
      if (user.role === role) continue;
      await accounts.update(userId, { role });
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
