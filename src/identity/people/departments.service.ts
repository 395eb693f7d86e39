import { Injectable } from '@nestjs/common';
import { type ActionName, ActivityLog, type Changes, changesOf } from '../../audit';
import { fault, type Scope } from '../../kernel';
import { Database, type TableRow, type Tx } from '../../platform';
import { Department } from '../department.entity';
import { notFoundFault, assertVersion, nameTakenFault, type EditTarget } from './acting';
import { departmentsWithin, organisationsWithin } from './scope-conditions';

const COLUMNS = 'd.id, d.name, d.organisation_id, d.created_at, d.version';

export interface ListedDepartment extends TableRow<'department', typeof COLUMNS> {
  readonly organisation: string;
  readonly users: number;
  readonly keys: number;
}

const MAX_DEPARTMENTS = 500;

@Injectable()
export class Departments {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  /** Sorted by organisation and name, without pages, because an installation has few departments. */
  async list(scope: Scope, organisationId: number | null = null): Promise<ListedDepartment[]> {
    const within = departmentsWithin(scope, 3);
    return this.database.rows<ListedDepartment>(
      `SELECT ${COLUMNS}, o.name AS organisation,
              (SELECT count(*)::integer FROM user_account u WHERE u.department_id = d.id) AS users,
              (SELECT count(*)::integer FROM api_key k WHERE k.department_id = d.id AND k.status = 'active') AS keys
         FROM department d JOIN organisation o ON o.id = d.organisation_id
        WHERE ($1::integer IS NULL OR d.organisation_id = $1) AND ${within.sql}
        ORDER BY lower(o.name), lower(d.name), d.id LIMIT $2`,
      [organisationId, MAX_DEPARTMENTS, ...within.parameters],
    );
  }

  async create(
    scope: Scope,
    fields: { readonly organisationId: number; readonly name: string },
    work: (tx: Tx, id: number) => Promise<Changes>,
  ): Promise<number> {
    return this.database.transaction(async (tx) => {
      const within = organisationsWithin(scope, 2);
      const rows = await tx.query<unknown[]>(
        `SELECT 1 FROM organisation o WHERE o.id = $1 AND ${within.sql} FOR KEY SHARE`,
        [fields.organisationId, ...within.parameters],
      );
      if (rows.length === 0) throw notFoundFault('organisation');
      const department = tx.getRepository(Department).create(fields);
      await tx.getRepository(Department).insert(department).catch(refuseTakenName);
      const extraChanges = await work(tx, department.id);
      await this.write(tx, 'department.created', department, {
        ...changesOf(null, { name: department.name }),
        ...extraChanges,
      });
      return department.id;
    });
  }

  change(
    scope: Scope,
    target: EditTarget,
    fields: { readonly name?: string },
    work: (tx: Tx, id: number) => Promise<Changes>,
  ): Promise<Changes> {
    return this.database.transaction(async (tx) => {
      const department = await lock(tx, scope, target);
      const changes = { ...changesOf(department, fields), ...(await work(tx, department.id)) };
      if (Object.keys(changes).length === 0) {
        this.activity.reportNoChange();
        return changes;
      }
      await tx
        .getRepository(Department)
        .update(department.id, { ...fields, version: department.version + 1 })
        .catch(refuseTakenName);
      await this.write(tx, 'department.changed', department, changes, target.reason);
      return changes;
    });
  }

  remove(scope: Scope, target: EditTarget, work: (tx: Tx, id: number) => Promise<void>): Promise<void> {
    return this.database.transaction(async (tx) => {
      const department = await lock(tx, scope, target);
      const [counts] = await tx.query<{ users: number; keys: number }[]>(
        `SELECT (SELECT count(*)::integer FROM user_account WHERE department_id = $1) AS users,
                (SELECT count(*)::integer FROM api_key WHERE department_id = $1) AS keys`,
        [department.id],
      );
      if (counts !== undefined && counts.users + counts.keys > 0) {
        throw fault('conflict', {
          message: `This department still has ${counts.users} people and ${counts.keys} keys.`,
          details: { reason: 'department-not-empty', ...counts },
        });
      }
      await work(tx, department.id);
      await tx.getRepository(Department).delete(department.id);
      await this.write(
        tx,
        'department.deleted',
        department,
        changesOf({ name: department.name }, null),
        target.reason,
      );
    });
  }

  private write(
    tx: Tx,
    action: ActionName,
    { id, name, organisationId }: Department,
    changes: Changes,
    reason?: string,
  ): Promise<void> {
    return this.activity.write(tx, {
      action,
      object: { type: 'department', id, label: name },
      concerns: { organisationId, departmentId: id },
      changes,
      ...(reason === undefined ? {} : { reason }),
    });
  }
}

async function lock(tx: Tx, scope: Scope, target: EditTarget): Promise<Department> {
  const within = departmentsWithin(scope, 2);
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM department d WHERE d.id = $1 AND ${within.sql} FOR UPDATE`,
    [target.id, ...within.parameters],
  );
  if (rows.length === 0) throw notFoundFault('department');
  const department = await tx.getRepository(Department).findOneByOrFail({ id: target.id });
  assertVersion(department, target);
  return department;
}

function refuseTakenName(error: unknown): never {
  const { constraint } = (error as { driverError?: { constraint?: string } }).driverError ?? {};
  if (constraint !== 'department_name_key') throw error;
  throw nameTakenFault('name', 'The organisation has a department of this name.');
}
