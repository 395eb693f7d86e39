import { Injectable } from '@nestjs/common';
import { type ActionName, ActivityLog, type Changes, changesOf } from '../../audit';
import { fault, type Scope } from '../../kernel';
import { Database, type Tx } from '../../platform';
import { Department } from '../department.entity';
import { notFoundFault, assertVersion, nameTakenFault, type EditTarget } from './acting';
import {
  countDepartmentMembers,
  type ListedDepartment,
  listDepartments,
  lockDepartment,
  shareOrganisation,
} from './department.query';

@Injectable()
export class Departments {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  list(scope: Scope, organisationId: number | null = null): Promise<ListedDepartment[]> {
    return listDepartments(this.database, scope, organisationId);
  }

  async create(
    scope: Scope,
    fields: { readonly organisationId: number; readonly name: string },
    work: (tx: Tx, id: number) => Promise<Changes>,
  ): Promise<number> {
    return this.database.transaction(async (tx) => {
      if (!(await shareOrganisation(tx, scope, fields.organisationId))) throw notFoundFault('organisation');
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
      const counts = await countDepartmentMembers(tx, department.id);
      if (counts.users + counts.keys > 0) {
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
  if (!(await lockDepartment(tx, scope, target.id))) throw notFoundFault('department');
  const department = await tx.getRepository(Department).findOneByOrFail({ id: target.id });
  assertVersion(department, target);
  return department;
}

function refuseTakenName(error: unknown): never {
  const { constraint } = (error as { driverError?: { constraint?: string } }).driverError ?? {};
  if (constraint !== 'department_name_key') throw error;
  throw nameTakenFault('name', 'The organisation has a department of this name.');
}
