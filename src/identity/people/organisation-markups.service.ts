import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { fault, type PriceFactor, type Scope } from '../../kernel';
import { Database, readRows, type TableRow } from '../../platform';
import { lockOrganisation } from './organisations.service';

export interface NewMarkup {
  /** In millionths of the price: 1,100,000 is a mark-up of ten per cent. */
  readonly factor: number;
  /** Null: from now on. */
  readonly validFrom: Date | null;
  readonly reason: string | null;
  readonly createdBy: number;
}

export interface Markup {
  readonly factor: number;
  readonly validFrom: Date;
  readonly reason: string | null;
  readonly createdBy: string | null;
  readonly isInForce: boolean;
}

const FULL_PRICE = 1_000_000;
const MAX_ROWS = 100;

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
      const rows = await readRows<TableRow<'organisation_markup', 'valid_from'>>(
        tx,
        `INSERT INTO organisation_markup (organisation_id, factor, valid_from, reason, created_by)
         SELECT $1, $2, coalesce($3::timestamptz, clock_timestamp()), $4, $5
          WHERE $3::timestamptz IS NULL OR $3::timestamptz > clock_timestamp()
         ON CONFLICT DO NOTHING RETURNING valid_from`,
        [id, markup.factor, markup.validFrom, markup.reason, markup.createdBy],
      );
      const [row] = rows;
      if (row === undefined)
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
          ...changesOf(null, { valid_from: row.validFrom }),
        },
        ...(markup.reason === null ? {} : { reason: markup.reason }),
      });
    });
  }

  list(organisationId: number): Promise<Markup[]> {
    return this.database.rows<Markup>(
      `SELECT m.factor, m.valid_from, m.reason, u.display_name AS created_by,
              m.id IS NOT DISTINCT FROM (SELECT n.id FROM organisation_markup n WHERE n.organisation_id = $1
                AND n.valid_from <= now() ORDER BY n.valid_from DESC LIMIT 1) AS is_in_force
         FROM organisation_markup m LEFT JOIN user_account u ON u.id = m.created_by
        WHERE m.organisation_id = $1 ORDER BY m.valid_from DESC LIMIT ${MAX_ROWS}`,
      [organisationId],
    );
  }

  /** Share of a price that is paid now; null for the full price. */
  async factorOf(organisationId: number | null): Promise<PriceFactor> {
    if (organisationId === null) return null;
    const [row] = await this.database.query<TableRow<'organisation_markup', 'factor'>>(
      `SELECT factor FROM organisation_markup WHERE organisation_id = $1 AND valid_from <= now()
        ORDER BY valid_from DESC LIMIT 1`,
      [organisationId],
    );
    return row === undefined || row.factor === FULL_PRICE ? null : row.factor;
  }
}
