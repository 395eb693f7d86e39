import { randomBytes, randomUUID } from 'node:crypto';
import type { UserRole } from '../../src/kernel';
import type { Person, World } from '../operations/world';
import type { IdName, Relation } from './policy';

/** The name of foreign objects. No answer to another person may contain it. */
export const FOREIGN_MARK = 'zzforeignmark';
/** Our things' names are the beginning of foreign ones. */
export const COMMON_NAME = 'kontor';

interface Place {
  readonly organisationId: number;
  readonly departmentId: number;
  /** Ends the names of what is made there. */
  readonly mark: string;
}

/** Two departments of ours and one of theirs. */
export class Places {
  private constructor(
    readonly world: World,
    readonly ours: Place,
    readonly beside: Place,
    readonly theirs: Place,
  ) {}

  static async open(world: World): Promise<Places> {
    const department = async (organisationId: number, name: string): Promise<number> => {
      const [row] = await world.rows<{ id: number }>(
        'INSERT INTO department (organisation_id, name) VALUES ($1, $2) RETURNING id',
        [organisationId, name],
      );
      return row?.id ?? 0;
    };
    const [ours, theirs] = [world.organisationId, world.otherOrganisationId];
    // Not the ceiling of credit is looked at here, but who may give it.
    await world.rows('UPDATE organisation SET credit_ceiling_nano = 1000000000000000');
    return new Places(
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

  placeOf(relation: Relation): Place {
    if (relation === 'foreign') return this.theirs;
    return relation === 'organisation' ? this.beside : this.ours;
  }

  person(role: UserRole, relation: Relation = 'own'): Promise<Person> {
    const { organisationId, departmentId } = this.placeOf(relation);
    return this.world.newPerson({ role, organisationId, departmentId });
  }
}

/** An id as it stands in a path. */
export type AddressId = string;

/** Creates an object of this kind that belongs to the person, in their organisation and department. */
export async function createObject(
  places: Places,
  id: IdName,
  owner: Person,
  relation: Relation,
  isRow: boolean,
): Promise<AddressId> {
  const { world } = places;
  const { organisationId, departmentId, mark } = places.placeOf(relation);
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
      const made = await one('INSERT INTO project (organisation_id, name, created_by) VALUES ($1, $2, $3)', [
        organisationId,
        name,
        owner.userId,
      ]);
      await world.rows('INSERT INTO project_member (project_id, user_id) VALUES ($1, $2)', [
        Number(made),
        owner.userId,
      ]);
      return made;
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

/** An id of the same form that no object has. */
export const absentId = (id: IdName, isRow: boolean): AddressId =>
  id === 'key_id' && !isRow ? 'AbSeNt00' : '999999999';
