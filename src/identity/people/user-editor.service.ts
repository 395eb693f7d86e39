import { Injectable } from '@nestjs/common';
import { Not } from 'typeorm';
import { type ActionName, ActivityLog, type Changes, changesOf } from '../../audit';
import { atLeast, fault, canGrant, type UserRole } from '../../kernel';
import { createHook, Database, HooksService, type Tx } from '../../platform';
import { Department } from '../department.entity';
import { Organisation } from '../organisation.entity';
import { lockRoles } from '../role-lock';
import { SessionsService } from '../sessions.service';
import { UserAccount } from '../user-account.entity';
import { type UserStatus, userTransitions } from '../user-status';
import { notFoundFault, type ActorContext, assertVersion, type EditTarget } from './acting';
import { assertAllowed, type UserAct } from './policy';
import { findPaidObject } from './payer.query';
import { deleteForeignMemberships } from './project.store';
import { UserRegister } from './user-register.query';

/** A method that removes something that a user loses with an organisation; returns the changes. */
export const OnOrganisationLeave = createHook<(tx: Tx, userId: number) => Promise<Changes>>();

/** Changes accounts for administrators according to the policy; each change is recorded with its reason. */
@Injectable()
export class UserEditor {
  constructor(
    private readonly database: Database,
    private readonly register: UserRegister,
    private readonly sessions: SessionsService,
    private readonly activity: ActivityLog,
    private readonly hooks: HooksService,
  ) {}

  /** Runs one change of an account in a transaction; `work` returns the changes, of which there can be none. */
  async change(
    acting: ActorContext,
    target: EditTarget,
    { act, action }: { readonly act: UserAct; readonly action: ActionName },
    work: (tx: Tx, user: UserAccount) => Promise<Changes>,
  ): Promise<Changes> {
    return this.database.transaction(async (tx) => {
      const user = await this.lock(tx, acting, target, act);
      return this.record(tx, user, await work(tx, user), { action, reason: target.reason });
    });
  }

  /** Changes the user's own account, which the policy does not cover: the caller has verified the user. */
  async changeOwn(
    userId: number,
    action: ActionName,
    work: (tx: Tx, user: UserAccount) => Promise<Changes>,
  ): Promise<Changes> {
    return this.database.transaction(async (tx) => {
      await lockRoles(tx);
      const user = await lockAccount(tx, userId);
      return this.record(tx, user, await work(tx, user), { action });
    });
  }

  private async record(
    tx: Tx,
    user: UserAccount,
    changes: Changes,
    { action, reason }: { readonly action: ActionName; readonly reason?: string | undefined },
  ): Promise<Changes> {
    if (Object.keys(changes).length === 0) {
      this.activity.reportNoChange();
      return changes;
    }
    await tx.getRepository(UserAccount).increment({ id: user.id }, 'version', 1);
    await this.activity.write(tx, {
      action,
      object: { type: 'account', id: user.id, label: user.email },
      concerns: { ...user, userId: user.id },
      changes,
      ...(reason === undefined ? {} : { reason }),
    });
    return changes;
  }

  setRole(acting: ActorContext, target: EditTarget, role: UserRole): Promise<Changes> {
    return this.change(acting, target, { act: 'role', action: 'user.role-changed' }, async (tx, user) => {
      if (!canGrant(acting.actor.role, role)) {
        throw fault('permission_denied', {
          message: 'No one grants a role above their own.',
          details: { reason: 'grant-above' },
        });
      }
      if (user.role === role) return {};
      if (role !== 'platform_owner') await refuseLastOwner(tx, user);
      const changes = await this.update(tx, user, { role });
      const losesPlatformRole = isOfPlatform(user.role) && !isOfPlatform(role);
      return losesPlatformRole ? { ...changes, ...(await this.leave(tx, user.id)) } : changes;
    });
  }

  /** Suspended and archived users are refused everywhere within a second. */
  setStatus(
    acting: ActorContext,
    target: EditTarget,
    status: Exclude<UserStatus, 'deleted'>,
  ): Promise<Changes> {
    return this.change(acting, target, { act: 'status', action: 'user.status-changed' }, async (tx, user) => {
      if (user.status === status) return {};
      userTransitions.assert(user.status, status);
      if (status !== 'active') await refuseLastOwner(tx, user);
      return this.update(tx, user, { status });
    });
  }

  setBillingExempt(acting: ActorContext, target: EditTarget, requested?: boolean): Promise<Changes> {
    const kind = { act: 'billing-exempt', action: 'user.billing-exempt-changed' } as const;
    return this.change(acting, target, kind, async (tx, user) => {
      const billingExempt = requested ?? !user.billingExempt;
      await tx.getRepository(UserAccount).update(user.id, { billingExempt });
      return changesOf({ billing_exempt: user.billingExempt }, { billing_exempt: billingExempt });
    });
  }

  /**
   * Null removes the user from the organisation. Departments, roles over one, memberships of its projects and keys that
   * belong to it do not move along.
   */
  setOrganisation(acting: ActorContext, target: EditTarget, organisationId: number | null): Promise<Changes> {
    const kind = { act: 'organisation', action: 'user.organisation-changed' } as const;
    return this.change(acting, target, kind, async (tx, user) => {
      if (user.organisationId === organisationId) return {};
      if (organisationId !== null) await requireOrganisation(tx, organisationId);
      await refusePayer(tx, user);
      const role = isOfPlatform(user.role) ? user.role : 'user';
      const changes = await this.update(tx, user, { organisationId, departmentId: null, role });
      if (organisationId !== null) await this.recordForOrganisation(tx, user, organisationId, target);
      return { ...changes, ...(await this.leave(tx, user.id)) };
    });
  }

  setDepartment(acting: ActorContext, target: EditTarget, departmentId: number | null): Promise<Changes> {
    const kind = { act: 'department', action: 'user.department-changed' } as const;
    return this.change(acting, target, kind, async (tx, user) => {
      if (departmentId !== null) {
        const { organisationId } = user;
        const lock = { mode: 'for_key_share' } as const;
        const department =
          organisationId === null
            ? null
            : await tx
                .getRepository(Department)
                .findOne({ where: { id: departmentId, organisationId }, lock });
        if (department === null) throw notFoundFault('department');
      }
      await tx.getRepository(UserAccount).update(user.id, { departmentId });
      return changesOf({ department_id: user.departmentId }, { department_id: departmentId });
    });
  }

  /** Ends open sessions, except for a change of status. */
  private async update(tx: Tx, user: UserAccount, fields: Partial<UserAccount>): Promise<Changes> {
    await tx.getRepository(UserAccount).update(user.id, fields);
    if (fields.status === undefined) await this.sessions.endAll(tx, user.id);
    const before = { role: user.role, status: user.status, organisation_id: user.organisationId };
    const after = { ...before, ...columnsOf(fields) };
    return changesOf(before, after);
  }

  /** The entry of the change itself concerns the organisation that the user leaves. */
  private recordForOrganisation(
    tx: Tx,
    { id, email }: UserAccount,
    organisationId: number,
    { reason }: EditTarget,
  ): Promise<void> {
    return this.activity.write(tx, {
      action: 'user.organisation-changed',
      object: { type: 'account', id, label: email },
      concerns: { userId: id, organisationId },
      changes: changesOf(null, { organisation_id: organisationId }),
      ...(reason === undefined ? {} : { reason }),
    });
  }

  private async leave(tx: Tx, userId: number): Promise<Changes> {
    let changes = await leaveProjects(tx, userId);
    for (const handler of this.hooks.handlersOf(OnOrganisationLeave)) {
      changes = { ...changes, ...(await handler(tx, userId)) };
    }
    return changes;
  }

  private async lock(tx: Tx, acting: ActorContext, target: EditTarget, act: UserAct): Promise<UserAccount> {
    await lockRoles(tx);
    const accounts = tx.getRepository(UserAccount);
    const actor = await accounts.findOneBy({ id: acting.actor.userId });
    if (actor?.role !== acting.actor.role || actor.status !== 'active') {
      throw fault('permission_denied', {
        message: 'Your own role has changed.',
        details: { reason: 'own-role-changed' },
      });
    }
    const { id } = await this.register.get(acting.scope, target.id, tx);
    const user = await lockAccount(tx, id);
    assertAllowed(acting.actor, act, user);
    assertVersion(user, target);
    return user;
  }
}

const isOfPlatform = (role: UserRole): boolean => atLeast(role, 'platform_admin');

/** The current state of the account decides which memberships still count. */
async function leaveProjects(tx: Tx, userId: number): Promise<Changes> {
  const projects = await deleteForeignMemberships(tx, userId);
  return changesOf({ projects_left: 0 }, { projects_left: projects });
}

async function lockAccount(tx: Tx, id: number): Promise<UserAccount> {
  const lock = { mode: 'pessimistic_write' } as const;
  const user = await tx.getRepository(UserAccount).findOne({ where: { id }, lock });
  if (user === null || user.status === 'deleted') throw notFoundFault('user');
  return user;
}

const columnsOf = ({ role, status, organisationId }: Partial<UserAccount>) => ({
  ...(role === undefined ? {} : { role }),
  ...(status === undefined ? {} : { status }),
  ...(organisationId === undefined ? {} : { organisation_id: organisationId }),
});

export async function refuseLastOwner(tx: Tx, user: UserAccount): Promise<void> {
  if (user.role !== 'platform_owner') return;
  const owner = { role: 'platform_owner', status: 'active' } as const;
  if (!(await tx.getRepository(UserAccount).existsBy({ ...owner, id: Not(user.id) }))) {
    throw fault('permission_denied', {
      message: 'This is the last platform owner, who has to stay.',
      details: { reason: 'last-owner' },
    });
  }
}

async function requireOrganisation(tx: Tx, id: number): Promise<void> {
  const lock = { mode: 'for_key_share' } as const;
  const organisation = await tx.getRepository(Organisation).findOne({ where: { id }, lock });
  if (organisation === null) throw notFoundFault('organisation');
}

export async function refusePayer(tx: Tx, user: UserAccount): Promise<void> {
  const paysFor = await findPaidObject(tx, user.id);
  if (paysFor === undefined) return;
  throw fault('conflict', {
    message: `This account pays for the ${paysFor.what} ${paysFor.name}; name another payer first.`,
    details: { reason: 'payer', name: paysFor.name },
  });
}
