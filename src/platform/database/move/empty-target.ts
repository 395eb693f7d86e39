import { Client } from 'pg';

/** Reason why nothing can be moved to the target; null if it is empty or holds only the remains of a failed attempt. */
export async function targetProblem(url: string): Promise<string | null> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ others: string[]; isOurs: boolean }>(
      `SELECT ARRAY(SELECT format('%I.%I', n.nspname, c.relname)
                      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                     WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname NOT LIKE 'pg\\_%'
                       AND n.nspname <> 'information_schema'
                       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
                     ORDER BY 1 LIMIT 3) AS others,
              to_regclass('public.user_account') IS NOT NULL AND to_regclass('public.migrations') IS NOT NULL AS "isOurs"`,
    );
    const { others = [], isOurs = false } = rows[0] ?? {};
    if (others.length === 0) return null;
    if (!isOurs) return `it has tables of others, such as ${others.join(', ')}`;
    const used = await client.query('SELECT FROM public.user_account LIMIT 1');
    return used.rowCount === 0 ? null : 'it holds an installation already';
  } finally {
    await client.end();
  }
}
