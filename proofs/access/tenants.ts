import { randomBytes, randomUUID } from 'node:crypto';
import type { UserRole } from '../../src/kernel';
import type { PortalUser, World } from '../operations/world';
import type { IdName, Relation } from './policy';

/** Name of foreign objects; no response to another user contains it. */
export const FOREIGN_MARK = 'zzforeignmark';
/** Name of own objects, and prefix of the names of foreign ones. */
export const COMMON_NAME = 'kontor';

interface TenantDepartment {
  readonly organisationId: number;
  readonly departmentId: number;
  /** Suffix of the names of objects created in this department. */
  readonly mark: string;
}

/** Two departments of the own organisation and one of the other. */
export class Tenants {
  private constructor(
    readonly world: World,
    readonly ownDepartment: TenantDepartment,
    readonly siblingDepartment: TenantDepartment,
    readonly otherDepartment: TenantDepartment,
  ) {}

  static async open(world: World): Promise<Tenants> {
    const department = async (organisationId: number, name: string): Promise<number> => {
      const [row] = await world.rows<{ id: number }>(
        'INSERT INTO department (organisation_id, name) VALUES ($1, $2) RETURNING id',
        [organisationId, name],
      );
      return row?.id ?? 0;
    };
    const [ours, theirs] = [world.organisationId, world.otherOrganisationId];
    // The credit ceiling is out of scope; only the permission to grant credit is tested.
    await world.rows('UPDATE organisation SET credit_ceiling_nano = 1000000000000000');
    return new Tenants(
      world,
      { organisationId: ours, departmentId: await department(ours, COMMON_NAME), mark: '' },
      { organisationId: ours, departmentId: await department(ours, `${COMMON_NAME} two`), mark: '' },
      {
        organisationId: theirs,
        departmentId: await department(theirs, `${COMMON_NAME} ${FOREIGN_MARK}`),
        mark: ` ${FOREIGN_MARK}`,
      },
    );
  }

  departmentOf(relation: Relation): TenantDepartment {
    if (relation === 'foreign') return this.otherDepartment;
    return relation === 'organisation' ? this.siblingDepartment : this.ownDepartment;
  }

  person(role: UserRole, relation: Relation = 'own'): Promise<PortalUser> {
    const { organisationId, departmentId } = this.departmentOf(relation);
    return this.world.newPerson({ role, organisationId, departmentId });
  }
}

/** Id as written in a path. */
export type AddressId = string;

/** Creates an object of this kind that belongs to the user, in the user's organisation and department. */
export async function createObject(
  places: Tenants,
  id: IdName,
  owner: PortalUser,
  relation: Relation,
  isRow: boolean,
): Promise<AddressId> {
  const { world } = places;
  const { organisationId, departmentId, mark } = places.departmentOf(relation);
  const one = async (statement: string, values: unknown[]): Promise<AddressId> => {
    const [row] = await world.rows<{ id: number }>(`${statement} RETURNING id`, values);
    return String(row?.id);
  };
  const name = `${COMMON_NAME}${mark} ${randomBytes(4).toString('hex')}`;
  switch (id) {
    case 'user_id':
      return String(owner.userId);
    case 'org_id':
      return String(organisationId);
    case 'dept_id':
      return String(departmentId);
    case 'key_id': {
      const key = await world.newKey(owner, name);
      return isRow ? String(key.id) : key.publicId;
    }
    case 'project_id': {
      const projectId = await one(
        'INSERT INTO project (organisation_id, name, created_by) VALUES ($1, $2, $3)',
        [organisationId, name, owner.userId],
      );
      await world.rows('INSERT INTO project_member (project_id, user_id) VALUES ($1, $2)', [
        Number(projectId),
        owner.userId,
      ]);
      return projectId;
    }
    case 'conv_id':
      return one('INSERT INTO conversation (user_id, model) VALUES ($1, $2)', [owner.userId, 'sim-small']);
    case 'invite_id':
      return one(
        `INSERT INTO invite (token_hash, email, role, organisation_id, department_id, invited_by, expires_at)
         VALUES ($1, $2, 'user', $3, $4, $5, now() + interval '1 day')`,
        [randomBytes(32), `${randomUUID()}@example.com`, organisationId, departmentId, owner.userId],
      );
  }
}

/** Returns an id of the same form that no object has. */
export const absentId = (id: IdName, isRow: boolean): AddressId =>
  id === 'key_id' && !isRow ? 'AbSeNt00' : '999999999';
