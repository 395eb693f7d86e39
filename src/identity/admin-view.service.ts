import { Injectable } from '@nestjs/common';
import { type Actor, atLeast, fault } from '../kernel';
import { Database, type Row, type Tx } from '../platform';

export type OrganisationName = Row<'organisation', 'id, name'>;

/** A filter and the strip offer at most so many: those narrow to another one from its own page. */
const MOST_IN_FILTER = 200;
const MOST_IN_FORM = 5_000;

/** The administration's view is a property of the session: it survives a reload and ends with the session. */
@Injectable()
export class AdminViewService {
  constructor(private readonly database: Database) {}

  /** Closing it forgets the organisation it was narrowed to. */
  async setOpen(tx: Tx, actor: Actor, isOpen: boolean): Promise<void> {
    await tx.query(
      `UPDATE session SET admin_role = CASE WHEN $2 THEN $3 END,
              admin_organisation_id = CASE WHEN $2 THEN admin_organisation_id END
        WHERE public_id = $1`,
      [actor.sessionId, isOpen, actor.role],
    );
  }

  /** Opens the view, narrowed to one organisation, or to none with null. */
  async narrow(tx: Tx, actor: Actor, organisation: OrganisationName | null): Promise<void> {
    if (!atLeast(actor.role, 'platform_admin')) throw fault('permission_denied');
    await tx.query('UPDATE session SET admin_role = $2, admin_organisation_id = $3 WHERE public_id = $1', [
      actor.sessionId,
      actor.role,
      organisation?.id ?? null,
    ]);
  }

  /** It is found by number or, as older clients name it, by slug. */
  async organisation(wanted: number | string): Promise<OrganisationName> {
    const column = typeof wanted === 'number' ? 'id' : 'slug';
    const [found] = await this.database.query<OrganisationName>(
      `SELECT id, name FROM organisation WHERE ${column} = $1`,
      [wanted],
    );
    if (found === undefined)
      throw fault('not_found', {
        message: 'There is no such organisation.',
        details: { reason: 'gone' },
      });
    return found;
  }

  /** A filter gets them by name: the first ones, and in any case the one that is chosen already. */
  organisations(chosen: number | null = null): Promise<OrganisationName[]> {
    return this.listed(chosen, MOST_IN_FILTER);
  }

  /** A form gets them, in which the choice has no other way. */
  organisationsToChoose(chosen: number | null = null): Promise<OrganisationName[]> {
    return this.listed(chosen, MOST_IN_FORM);
  }

  private listed(chosen: number | null, most: number): Promise<OrganisationName[]> {
    return this.database.query<OrganisationName>(
      `SELECT id, name FROM ((SELECT id, name FROM organisation ORDER BY lower(name), id LIMIT $2)
         UNION SELECT id, name FROM organisation WHERE id = $1) AS listed ORDER BY lower(name), id`,
      [chosen, most],
    );
  }
}
