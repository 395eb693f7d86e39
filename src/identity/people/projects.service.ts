import { Injectable } from '@nestjs/common';
import { type ActionName, ActivityLog, type Changes, changesOf } from '../../audit';
import { fault, type Scope } from '../../kernel';
import { Database, Keyset, type Page, type PageRequest, type TableRow, type Tx } from '../../platform';
import { Project, ProjectMember } from '../project.entity';
import {
  notFoundFault,
  type ActorContext,
  assertVersion,
  notInOrganisationFault,
  type EditTarget,
} from './acting';
import { refuseSuperior } from './superiors';
import { organisationsWithin, projectsWithin, usersWithin } from './scope-conditions';

const COLUMNS = 'p.id, p.name, p.organisation_id, p.billing_user_id, p.created_at, p.archived_at, p.version';

export interface ListedProject extends TableRow<'project', typeof COLUMNS> {
  readonly organisation: string | null;
  readonly billingUser: string | null;
  readonly createdBy: string;
  readonly members: number;
  readonly keys: number;
}

export interface ProjectFilter extends PageRequest {
  readonly text?: string | null;
  readonly organisationId?: number | null;
  readonly archived?: boolean;
}

export interface ProjectFields {
  readonly name?: string;
  readonly billingUserId?: number | null;
}

export interface ListedMember {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly addedAt: Date;
}

const newestFirst = new Keyset([{ sql: 'p.id', kind: 'integer' }], 'descending');

const selectionFrom = (projects: string): string => `
  SELECT ${COLUMNS}, ${newestFirst.positions}, o.name AS organisation, payer.email AS billing_user, maker.email AS created_by,
         (SELECT count(*)::integer FROM project_member m WHERE m.project_id = p.id) AS members,
         (SELECT count(*)::integer FROM api_key k WHERE k.project_id = p.id AND k.status = 'active') AS keys
    FROM ${projects} p LEFT JOIN organisation o ON o.id = p.organisation_id
    LEFT JOIN user_account payer ON payer.id = p.billing_user_id JOIN user_account maker ON maker.id = p.created_by`;

const selection = selectionFrom('project');

const MAX_MEMBERS = 500;

@Injectable()
export class Projects {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  async page(scope: Scope, filter: ProjectFilter): Promise<Page<ListedProject>> {
    const within = projectsWithin(scope, 5);
    const page = newestFirst.clause(filter, 5 + within.parameters.length);
    const rows = await this.database.rows<ListedProject>(
      selectionFrom(`(
        SELECT p.* FROM project p WHERE ($1::text IS NULL OR strpos(lower(p.name), lower($1)) > 0)
           AND ($2::integer IS NULL OR p.organisation_id = $2) AND (p.archived_at IS NOT NULL) = $3
           AND ${within.sql} AND ${page.where} ORDER BY ${page.orderBy} LIMIT $4)`) +
        ` ORDER BY ${page.orderBy}`,
      [
        filter.text ?? null,
        filter.organisationId ?? null,
        filter.archived ?? false,
        page.limit,
        ...within.parameters,
        ...page.parameters,
      ],
    );
    return newestFirst.page(rows, filter);
  }

  async get(scope: Scope, id: number): Promise<ListedProject> {
    const within = projectsWithin(scope, 2);
    const [row] = await this.database.rows<ListedProject>(`${selection} WHERE p.id = $1 AND ${within.sql}`, [
      id,
      ...within.parameters,
    ]);
    if (row === undefined) throw notFoundFault('project');
    return row;
  }

  /** The caller has found the project within the scope. */
  members(projectId: number): Promise<ListedMember[]> {
    return this.database.rows<ListedMember>(
      `SELECT u.id, u.display_name AS name, u.email, m.added_at FROM project_member m
         JOIN user_account u ON u.id = m.user_id WHERE m.project_id = $1 ORDER BY lower(u.email) LIMIT $2`,
      [projectId, MAX_MEMBERS],
    );
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
      const added = await tx.query<unknown[]>(
        `INSERT INTO project_member (project_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1`,
        [project.id, userId],
      );
      if (added.length === 0) return this.activity.reportNoChange();
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
      const [rows] = await tx.query<[TableRow<'user_account', 'email'>[], number]>(
        `DELETE FROM project_member m USING user_account u
          WHERE m.project_id = $1 AND m.user_id = $2 AND u.id = m.user_id RETURNING u.email`,
        [project.id, userId],
      );
      const [removedUser] = rows;
      if (removedUser === undefined) throw notFoundFault('member');
      const keys = await endKeys(tx, project.id, userId);
      const changes = changesOf({ member: removedUser.email, keys }, { member: null, keys: 0 });
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
  const within = projectsWithin(scope, 2);
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM project p WHERE p.id = $1 AND ${within.sql} FOR UPDATE`,
    [target.id, ...within.parameters],
  );
  if (rows.length === 0) throw notFoundFault('project');
  const project = await tx.getRepository(Project).findOneByOrFail({ id: target.id });
  assertVersion(project, target);
  if (project.archivedAt !== null) {
    throw fault('conflict', { message: 'This project is archived.', details: { reason: 'archived' } });
  }
  return project;
}

async function refuseForeignOrganisation(tx: Tx, scope: Scope, id: number | null): Promise<void> {
  if (id === null && scope.kind === 'platform') return;
  const within = organisationsWithin(scope, 2);
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM organisation o WHERE o.id = $1 AND ${within.sql} FOR KEY SHARE`,
    [id, ...within.parameters],
  );
  if (rows.length === 0) throw notFoundFault('organisation');
}

/** A member or payer of a project has to be within the actor's scope and in the project's organisation. */
async function requireUser(tx: Tx, scope: Scope, project: Project, userId: number): Promise<string> {
  const within = usersWithin(scope, 3);
  const [user] = await tx.query<TableRow<'user_account', 'email'>[]>(
    `SELECT u.email FROM user_account u WHERE u.id = $1 AND u.status = 'active'
        AND ($2::integer IS NULL OR u.organisation_id = $2) AND ${within.sql} FOR KEY SHARE`,
    [userId, project.organisationId, ...within.parameters],
  );
  if (user === undefined) throw notInOrganisationFault();
  return user.email;
}
