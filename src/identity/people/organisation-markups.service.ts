import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { fault, type PriceFactor, type Scope } from '../../kernel';
import { Database } from '../../platform';
import { findCurrentFactor, listMarkups, type Markup } from './organisation-markup.query';
import { insertMarkup } from './organisation-markup.store';
import { lockOrganisation } from './organisations.service';
import type { NewMarkup } from './organisation-markup.store';

const FULL_PRICE = 1_000_000;

/** Stores mark-ups and discounts of organisations as immutable versions. */
@Injectable()
export class OrganisationMarkups {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  /** Adds a version. Requests in progress keep the version with which they started. */
  async set(scope: Scope, organisationId: number, markup: NewMarkup): Promise<void> {
    await this.database.transaction(async (tx) => {
      const { id, name } = await lockOrganisation(tx, scope, organisationId);
      const before = await this.factorOf(id);
      const validFrom = await insertMarkup(tx, id, markup);
      if (validFrom === undefined)
        throw fault('conflict', {
          param: 'valid_from',
          message: 'A mark-up begins now or later, and at an instant at which no other one does.',
          details: { reason: 'markup-start' },
        });
      await this.activity.write(tx, {
        action: 'organisation.markup-changed',
        object: { type: 'organisation', id, label: name },
        concerns: { organisationId: id },
        changes: {
          ...changesOf({ price_factor: before ?? FULL_PRICE }, { price_factor: markup.factor }),
          ...changesOf(null, { valid_from: validFrom }),
        },
        ...(markup.reason === null ? {} : { reason: markup.reason }),
      });
    });
  }

  list(organisationId: number): Promise<Markup[]> {
    return listMarkups(this.database, organisationId);
  }

  /** Share of a price that is paid now; null for the full price. */
  async factorOf(organisationId: number | null): Promise<PriceFactor> {
    if (organisationId === null) return null;
    const factor = await findCurrentFactor(this.database, organisationId);
    return factor === undefined || factor === FULL_PRICE ? null : factor;
  }
}
