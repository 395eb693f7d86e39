import { IsNull } from 'typeorm';
import { type Database, readRows, type TableRow, type Tx } from '../platform';
import { Lane, Model, ModelAlias, Price, PriceSchedule, Provider } from './entities';
import { CatalogueSnapshot } from './snapshot';

/** Reads the complete catalogue as of one instant, so that a partial change is never visible. */
export function loadSnapshot(database: Database): Promise<CatalogueSnapshot> {
  return database.transaction(
    async (tx) =>
      new CatalogueSnapshot({
        revision: await readRevision(tx),
        providers: await tx.findBy(Provider, { removedAt: IsNull() }),
        models: await tx.find(Model),
        lanes: await tx.findBy(Lane, { removedAt: IsNull() }),
        aliases: await tx.find(ModelAlias),
        prices: await tx.find(Price),
        schedules: await tx.find(PriceSchedule),
        organisationAccess: await readRows(tx, 'SELECT * FROM model_organisation_access'),
        departmentAccess: await readRows(tx, 'SELECT * FROM department_model_access'),
        policies: await readRows(tx, 'SELECT * FROM model_policy'),
      }),
    { isolation: 'REPEATABLE READ' },
  );
}

async function readRevision(tx: Pick<Tx, 'query'>): Promise<bigint> {
  const rows = await tx.query<TableRow<'catalogue_revision', 'revision'>[]>(
    'SELECT revision FROM catalogue_revision',
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the catalogue has no revision');
  return BigInt(row.revision);
}
