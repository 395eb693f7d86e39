import { readRows, type TableRow, type Tx } from '../../platform';

export interface NewMarkup {
  /** In millionths of the price: 1,100,000 is a mark-up of ten per cent. */
  readonly factor: number;
  /** Null: from now on. */
  readonly validFrom: Date | null;
  readonly reason: string | null;
  readonly createdBy: number;
}

/** Returns the start of the new version; undefined if that is in the past, or another version starts then. */
export async function insertMarkup(
  tx: Tx,
  organisationId: number,
  markup: NewMarkup,
): Promise<Date | undefined> {
  const [row] = await readRows<TableRow<'organisation_markup', 'valid_from'>>(
    tx,
    `INSERT INTO organisation_markup (organisation_id, factor, valid_from, reason, created_by)
     SELECT $1, $2, coalesce($3::timestamptz, clock_timestamp()), $4, $5
      WHERE $3::timestamptz IS NULL OR $3::timestamptz > clock_timestamp()
     ON CONFLICT DO NOTHING RETURNING valid_from`,
    [organisationId, markup.factor, markup.validFrom, markup.reason, markup.createdBy],
  );
  return row?.validFrom;
}
