import type { AuditChain } from '../../src/audit';
import type { Database } from '../../src/platform';
import type { Chance } from '../support/chance';

/** Entries as people leave them: of the platform and of organisations, in all alphabets, with and without changes. */
const INSERT = `
  INSERT INTO activity (occurred_at, action, actor_kind, actor_user_id, actor_role, actor_label, organisation_id,
    object_type, object_id, object_label, changes, reason, address, request_id)
  SELECT now() - make_interval(days => $3, secs => $1 - number), 'model.changed', 'user', number, 'org_admin',
         'Žofie "the ' || number || '" 李\\' || chr(10) || '🙂', NULLIF(number % $2, 0),
         'model', number::text, 'model ' || number,
         CASE WHEN number % 3 = 0 THEN NULL ELSE jsonb_build_object('price', jsonb_build_array(number / 7.0, null),
           'note', jsonb_build_array('früher', repeat('x', number % 40))) END,
         CASE WHEN number % 5 = 0 THEN 'asked in letter ' || number END,
         '10.0.0.1', gen_random_uuid()
    FROM generate_series(1, $1) AS number`;

/** So many entries in so many chains, sealed in blocks of many sizes. */
export async function writeHistory(
  database: Database,
  chain: AuditChain,
  wish: {
    readonly entries: number;
    readonly chains: number;
    readonly most: number;
    readonly daysAgo?: number;
  },
  chance: Chance,
): Promise<void> {
  for (let left = wish.entries; left > 0;) {
    const some = Math.min(left, chance.whole(1, wish.most));
    await database.query(INSERT, [some, wish.chains, wish.daysAgo ?? 0]);
    await chain.seal();
    left -= some;
  }
}

export async function exportOf(chain: AuditChain, number?: number): Promise<string> {
  const parts: string[] = [];
  await chain.export((text) => {
    parts.push(text);
    return Promise.resolve();
  }, number);
  return parts.join('');
}
