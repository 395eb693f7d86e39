import type { Database, TableRow, Tx } from '../platform';
import type { ModelState } from './entities';

export interface ListedAlias {
  readonly alias: string;
  readonly model: string;
  readonly state: ModelState;
  readonly managed: boolean;
}

/** Returns all aliases; the catalogue's size limit keeps the result bounded. */
export const listAliases = (database: Pick<Database, 'query'>): Promise<ListedAlias[]> =>
  database.query<ListedAlias>(
    `SELECT a.name AS alias, m.name AS model, m.state, m.managed
       FROM model_alias a JOIN model m ON m.id = a.model_id ORDER BY a.name COLLATE "C" LIMIT 10000`,
  );

export async function findModelOfAlias(
  tx: Tx,
  alias: string,
): Promise<TableRow<'model', 'name, managed'> | undefined> {
  const [model] = await tx.query<TableRow<'model', 'name, managed'>[]>(
    'SELECT m.name, m.managed FROM model_alias a JOIN model m ON m.id = a.model_id WHERE a.name = $1',
    [alias],
  );
  return model;
}
