import { Injectable } from '@nestjs/common';
import { type Actor, atLeast, fault } from '../kernel';
import { Database, type TableRow, type Tx } from '../platform';

export type OrganisationName = TableRow<'organisation', 'id, name'>;

/** Maximum number of organisations in a filter; others are reached from their own pages. */
const MAX_IN_FILTER = 200;
const MAX_IN_FORM = 5_000;

/** The admin view is a property of the session: it survives a reload and ends with the session. */
@Injectable()
export class AdminViewService {
  constructor(private readonly database: Database) {}

  /** Closing the view also clears its organisation. */
  async setOpen(tx: Tx, actor: Actor, isOpen: boolean): Promise<void> {
    await tx.query(
      `UPDATE session SET admin_role = CASE WHEN $2 THEN $3 END,
              admin_organisation_id = CASE WHEN $2 THEN admin_organisation_id END
        WHERE public_id = $1`,
      [actor.sessionId, isOpen, actor.role],
    );
  }

  /** Opens the view for one organisation, or for all of them with null. */
  async narrow(tx: Tx, actor: Actor, organisation: OrganisationName | null): Promise<void> {
    if (!atLeast(actor.role, 'platform_admin')) throw fault('permission_denied');
    await tx.query('UPDATE session SET admin_role = $2, admin_organisation_id = $3 WHERE public_id = $1', [
      actor.sessionId,
      actor.role,
      organisation?.id ?? null,
    ]);
  }

  /** Finds an organisation by its id or, for older clients, by its slug. */
  async organisation(idOrSlug: number | string): Promise<OrganisationName> {
    const column = typeof idOrSlug === 'number' ? 'id' : 'slug';
    const [organisation] = await this.database.query<OrganisationName>(
      `SELECT id, name FROM organisation WHERE ${column} = $1`,
      [idOrSlug],
    );
    if (organisation === undefined)
      throw fault('not_found', {
        message: 'There is no such organisation.',
        details: { reason: 'gone' },
      });
    return organisation;
  }

  /** Options of a filter by name: the first ones, and the selected one in any case. */
  organisations(selectedId: number | null = null): Promise<OrganisationName[]> {
    return this.listOrganisations(selectedId, MAX_IN_FILTER);
  }

  organisationsForForm(selectedId: number | null = null): Promise<OrganisationName[]> {
    return this.listOrganisations(selectedId, MAX_IN_FORM);
  }

  private listOrganisations(selectedId: number | null, limit: number): Promise<OrganisationName[]> {
    return this.database.query<OrganisationName>(
      `SELECT id, name FROM ((SELECT id, name FROM organisation ORDER BY lower(name), id LIMIT $2)
         UNION SELECT id, name FROM organisation WHERE id = $1) AS listed ORDER BY lower(name), id`,
      [selectedId, limit],
    );
  }
}
