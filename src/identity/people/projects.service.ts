import { Injectable } from '@nestjs/common';
import { type ActionName, ActivityLog, type Changes, changesOf } from '../../audit';
import { fault, type Scope } from '../../kernel';
import { Database, type Page, type Tx } from '../../platform';
import { Project, ProjectMember } from '../project.entity';
import {
  notFoundFault,
  type ActorContext,
  assertVersion,
  notInOrganisationFault,
  type EditTarget,
} from './acting';
import { refuseSuperior } from './superiors';
import { shareOrganisation } from './department.query';
import {
  findProject,
  type ListedMember,
  type ListedProject,
  listMembers,
  lockProject,
  type ProjectFilter,
  projectPage,
  shareUser,
} from './project.query';
import { deleteMember, insertMember } from './project.store';

export interface ProjectFields {
  readonly name?: string;
  readonly billingUserId?: number | null;
}

@Injectable()
export class Projects {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  page(scope: Scope, filter: ProjectFilter): Promise<Page<ListedProject>> {
    return projectPage(this.database, scope, filter);
  }

  async get(scope: Scope, id: number): Promise<ListedProject> {
    const project = await findProject(this.database, scope, id);
    if (project === undefined) throw notFoundFault('project');
    return project;
  }

  /** The caller has found the project within the scope. */
  members(projectId: number): Promise<ListedMember[]> {
    return listMembers(this.database, projectId);
  }

  create(
    { actor, scope }: ActorContext,
    fields: { readonly name: string; readonly organisationId: number | null },
    work: (tx: Tx, id: number) => Promise<Changes>,
  ): Promise<number> {
    return this.database.transaction(async (tx) => {
      await refuseForeignOrganisation(tx, scope, fields.organisationId);
      const project = tx.getRepository(Project).create({ ...fields, createdBy: actor.userId });
      await tx.getRepository(Project).insert(project);
      await tx.getRepository(ProjectMember).insert({ projectId: project.id, userId: actor.userId });
      const changes = { ...changesOf(null, { name: project.name }), ...(await work(tx, project.id)) };
      await this.write(tx, 'project.created', project, changes);
      return project.id;
    });
  }

  change(
    { actor, scope }: ActorContext,
    target: EditTarget,
    fields: ProjectFields,
    work: (tx: Tx, id: number) => Promise<Changes>,
  ): Promise<Changes> {
    return this.database.transaction(async (tx) => {
      const project = await lock(tx, scope, target);
      const { billingUserId = null } = fields;
      if (billingUserId !== null && billingUserId !== project.billingUserId) {
        await requireUser(tx, scope, project, billingUserId);
        await refuseSuperior(tx, actor, billingUserId, 'billing_user_id');
      }
      const changes = { ...changesOf(project, fields), ...(await work(tx, project.id)) };
      if (Object.keys(changes).length === 0) {
        this.activity.reportNoChange();
        return changes;
      }
      await tx.getRepository(Project).update(project.id, { ...fields, version: project.version + 1 });
      await this.write(tx, 'project.changed', project, changes, target.reason);
      return changes;
    });
  }

  archive(
    scope: Scope,
    target: EditTarget,
    endKeys: (tx: Tx, projectId: number) => Promise<number>,
  ): Promise<void> {
    return this.database.transaction(async (tx) => {
      const project = await lock(tx, scope, target);
      const keys = await endKeys(tx, project.id);
      await tx
        .getRepository(Project)
        .update(project.id, { archivedAt: new Date(), version: project.version + 1 });
      const changes = changesOf({ archived: false, keys }, { archived: true, keys: 0 });
      await this.write(tx, 'project.archived', project, changes, target.reason);
    });
  }

  addMember(scope: Scope, target: EditTarget, userId: number): Promise<void> {
    return this.database.transaction(async (tx) => {
      const project = await lock(tx, scope, target);
      const email = await requireUser(tx, scope, project, userId);
      if (!(await insertMember(tx, project.id, userId))) return this.activity.reportNoChange();
      await this.write(tx, 'project.member-added', project, { member: [null, email] }, target.reason);
    });
  }

  /** Keys that the user has on the project end with the membership. */
  removeMember(
    scope: Scope,
    target: EditTarget,
    userId: number,
    endKeys: (tx: Tx, projectId: number, userId: number) => Promise<number>,
  ): Promise<void> {
    return this.database.transaction(async (tx) => {
      const project = await lock(tx, scope, target);
      const email = await deleteMember(tx, project.id, userId);
      if (email === undefined) throw notFoundFault('member');
      const keys = await endKeys(tx, project.id, userId);
      const changes = changesOf({ member: email, keys }, { member: null, keys: 0 });
      await this.write(tx, 'project.member-removed', project, changes, target.reason);
    });
  }

  private write(
    tx: Tx,
    action: ActionName,
    { id, name, organisationId }: Project,
    changes: Changes,
    reason?: string,
  ): Promise<void> {
    return this.activity.write(tx, {
      action,
      object: { type: 'project', id, label: name },
      concerns: { organisationId },
      changes,
      ...(reason === undefined ? {} : { reason }),
    });
  }
}

async function lock(tx: Tx, scope: Scope, target: EditTarget): Promise<Project> {
  if (!(await lockProject(tx, scope, target.id))) throw notFoundFault('project');
  const project = await tx.getRepository(Project).findOneByOrFail({ id: target.id });
  assertVersion(project, target);
  if (project.archivedAt !== null) {
    throw fault('conflict', { message: 'This project is archived.', details: { reason: 'archived' } });
  }
  return project;
}

async function refuseForeignOrganisation(tx: Tx, scope: Scope, id: number | null): Promise<void> {
  if (id === null && scope.kind === 'platform') return;
  if (!(await shareOrganisation(tx, scope, id))) throw notFoundFault('organisation');
}

/** A member or payer of a project has to be within the actor's scope and in the project's organisation. */
async function requireUser(tx: Tx, scope: Scope, project: Project, userId: number): Promise<string> {
  const email = await shareUser(tx, scope, userId, project.organisationId);
  if (email === undefined) throw notInOrganisationFault();
  return email;
}
