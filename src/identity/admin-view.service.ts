import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { type Actor, atLeast, fault } from '../kernel';
import { Database, type Tx } from '../platform';
import { Organisation } from './organisation.entity';
import { listOrganisationNames, type OrganisationName } from './organisation-name.query';
import { Session } from './session.entity';

/** Maximum number of organisations in a filter; others are reached from their own pages. */
const MAX_IN_FILTER = 200;
const MAX_IN_FORM = 5_000;

/** The admin view is a property of the session: it survives a reload and ends with the session. */
@Injectable()
export class AdminViewService {
  constructor(
    private readonly database: Database,
    @InjectRepository(Organisation) private readonly organisationRows: Repository<Organisation>,
  ) {}

  /** Closing the view also clears its organisation. */
  async setOpen(tx: Tx, actor: Actor, isOpen: boolean): Promise<void> {
    const fields = isOpen ? { adminRole: actor.role } : { adminRole: null, adminOrganisationId: null };
    await tx.getRepository(Session).update({ publicId: actor.sessionId }, fields);
  }

  /** Opens the view for one organisation, or for all of them with null. */
  async narrow(tx: Tx, actor: Actor, organisation: OrganisationName | null): Promise<void> {
    if (!atLeast(actor.role, 'platform_admin')) throw fault('permission_denied');
    const fields = { adminRole: actor.role, adminOrganisationId: organisation?.id ?? null };
    await tx.getRepository(Session).update({ publicId: actor.sessionId }, fields);
  }

  /** Finds an organisation by its id or, for older clients, by its slug. */
  async organisation(idOrSlug: number | string): Promise<OrganisationName> {
    const where = typeof idOrSlug === 'number' ? { id: idOrSlug } : { slug: idOrSlug };
    const organisation = await this.organisationRows.findOne({ where, select: { id: true, name: true } });
    if (organisation === null)
      throw fault('not_found', {
        message: 'There is no such organisation.',
        details: { reason: 'gone' },
      });
    return organisation;
  }

  /** Options of a filter by name: the first ones, and the selected one in any case. */
  organisations(selectedId: number | null = null): Promise<OrganisationName[]> {
    return listOrganisationNames(this.database, selectedId, MAX_IN_FILTER);
  }

  organisationsForForm(selectedId: number | null = null): Promise<OrganisationName[]> {
    return listOrganisationNames(this.database, selectedId, MAX_IN_FORM);
  }
}
