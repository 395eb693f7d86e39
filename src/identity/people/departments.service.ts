import { Injectable } from '@nestjs/common';
import { type ActionName, ActivityLog, type Changes, changesOf } from '../../audit';
import { fault, type Scope } from '../../kernel';
import { Database, type Row, type Tx } from '../../platform';
import { Department } from '../department.entity';
import { absent, assertVersion, nameTaken, type Target } from './acting';
import { departmentsWithin, organisationsWithin } from './within';

const COLUMNS = 'd.id, d.name, d.organisation_id, d.created_at, d.version';

export interface ListedDepartment extends Row<'department', typeof COLUMNS> {
  readonly organisation: string;
  readonly users: number;
  readonly keys: number;
}

const MOST = 500;

@Injectable()
export class Departments {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  /** They are listed by organisation and name; an installation has few of them. */
  async list(scope: Scope, organisationId: number | null = null): Promise<ListedDepartment[]> {
    const within = departmentsWithin(scope, 3);
    return this.database.rows<ListedDepartment>(
      `SELECT ${COLUMNS}, o.name AS organisation,
              (SELECT count(*)::integer FROM user_account u WHERE u.department_id = d.id) AS users,
              (SELECT count(*)::integer FROM api_key k WHERE k.department_id = d.id AND k.status = 'active') AS keys
         FROM department d JOIN organisation o ON o.id = d.organisation_id
        WHERE ($1::integer IS NULL OR d.organisation_id = $1) AND ${within.sql}
        ORDER BY lower(o.name), lower(d.name), d.id LIMIT $2`,
      [organisationId, MOST, ...within.parameters],
    );
  }

  async create(
    scope: Scope,
    fields: { readonly organisationId: number; readonly name: string },
    work: (tx: Tx, id: number) => Promise<Changes>,
  ): Promise<number> {
    return this.database.transaction(async (tx) => {
      const within = organisationsWithin(scope, 2);
      const found = await tx.query<unknown[]>(
        `SELECT 1 FROM organisation o WHERE o.id = $1 AND ${within.sql} FOR KEY SHARE`,
        [fields.organisationId, ...within.parameters],
      );
      if (found.length === 0) throw absent('organisation');
      const made = tx.getRepository(Department).create(fields);
      await tx.getRepository(Department).insert(made).catch(refuseTakenName);
      const more = await work(tx, made.id);
      await this.write(tx, 'department.created', made, { ...changesOf(null, { name: made.name }), ...more });
      return made.id;
    });
  }

  change(
    scope: Scope,
    target: Target,
    fields: { readonly name?: string },
    work: (tx: Tx, id: number) => Promise<Changes>,
  ): Promise<Changes> {
    return this.database.transaction(async (tx) => {
      const found = await lock(tx, scope, target);
      const changes = { ...changesOf(found, fields), ...(await work(tx, found.id)) };
      if (Object.keys(changes).length === 0) {
        this.activity.nothingChanged();
        return changes;
      }
      await tx
        .getRepository(Department)
        .update(found.id, { ...fields, version: found.version + 1 })
        .catch(refuseTakenName);
      await this.write(tx, 'department.changed', found, changes, target.reason);
      return changes;
    });
  }

  /** Only an empty department is removed. */
  remove(scope: Scope, target: Target, work: (tx: Tx, id: number) => Promise<void>): Promise<void> {
    return this.database.transaction(async (tx) => {
      const found = await lock(tx, scope, target);
      const [counts] = await tx.query<{ users: number; keys: number }[]>(
        `SELECT (SELECT count(*)::integer FROM user_account WHERE department_id = $1) AS users,
                (SELECT count(*)::integer FROM api_key WHERE department_id = $1) AS keys`,
        [found.id],
      );
      if (counts !== undefined && counts.users + counts.keys > 0) {
        throw fault('conflict', {
          message: `This department still has ${counts.users} people and ${counts.keys} keys.`,
          details: { reason: 'department-not-empty', ...counts },
        });
      }
      await work(tx, found.id);
      await tx.getRepository(Department).delete(found.id);
      await this.write(tx, 'department.deleted', found, changesOf({ name: found.name }, null), target.reason);
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

async function lock(tx: Tx, scope: Scope, target: Target): Promise<Department> {
  const within = departmentsWithin(scope, 2);
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM department d WHERE d.id = $1 AND ${within.sql} FOR UPDATE`,
    [target.id, ...within.parameters],
  );
  if (rows.length === 0) throw absent('department');
  const found = await tx.getRepository(Department).findOneByOrFail({ id: target.id });
  assertVersion(found, target);
  return found;
}

function refuseTakenName(error: unknown): never {
  const { constraint } = (error as { driverError?: { constraint?: string } }).driverError ?? {};
  if (constraint !== 'department_name_key') throw error;
  throw nameTaken('name', 'The organisation has a department of this name.');
}
