import { formatUsd, platformScope } from '../../kernel';
import { keyFields, type KeyRegister, type ManagedKey } from '../../keys';
import { type Database, everyRow, type PageRequest, type TableRow } from '../../platform';

const PAGE_SIZE = 500;

type ExportedKeyFields = Record<string, unknown>;

export async function exportedKeys(
  database: Database,
  register: KeyRegister,
): Promise<Record<string, ExportedKeyFields>> {
  const keys: ManagedKey[] = [];
  const read = (page: PageRequest) => register.list(platformScope, { ...page, kind: 'client' });
  for await (const key of everyRow(Infinity, PAGE_SIZE, read)) if (key.status !== 'revoked') keys.push(key);
  const owners = await ownersOf(database, keys);
  const names = namesFor(keys);
  return Object.fromEntries(
    keys.map((key): [string, ExportedKeyFields] => {
      const name = names.get(key) ?? key.publicId;
      return [name, { ...fieldsOf(key, name), ...owners.get(key.id) }];
    }),
  );
}

function fieldsOf(key: ManagedKey, name: string): ExportedKeyFields {
  const { name: _name, ...limits } = keyFields.toFile(key);
  return {
    id: key.fileName === null ? key.publicId : null,
    name: key.name === name ? null : key.name,
    status: key.status === 'disabled' ? 'disabled' : null,
    ...limits,
    budget_limit: key.budget === null ? null : formatUsd(key.budget.limit),
    budget_period: key.budget?.period ?? null,
    model_budgets:
      key.modelBudgets.length === 0
        ? null
        : key.modelBudgets.map(({ model, state }) => ({
            model,
            limit: formatUsd(state.limit),
            period: state.period,
          })),
  };
}

/** Name from the file, else the key's own name in lower case, with a number if it is taken. */
function namesFor(keys: readonly ManagedKey[]): ReadonlyMap<ManagedKey, string> {
  const names = new Map<ManagedKey, string>();
  const taken = new Set(keys.flatMap(({ fileName }) => fileName ?? []));
  for (const key of keys) {
    const base = key.fileName ?? baseNameOf(key);
    let name = base;
    for (let suffix = 2; key.fileName === null && taken.has(name); suffix += 1) name = `${base}-${suffix}`;
    taken.add(name);
    names.set(key, name);
  }
  return names;
}

function baseNameOf({ name, publicId }: ManagedKey): string {
  const normalised = name.toLowerCase().replaceAll(/[^a-z0-9._-]+/g, '-');
  return /^[a-z0-9]/.test(normalised) ? normalised.slice(0, 50) : `key-${publicId.toLowerCase()}`;
}

type OwnerRow = TableRow<'api_key', 'id'> &
  Readonly<Record<'user' | 'organisation' | 'department', string | null>> & {
    readonly project: number | null;
  };

/** Owners that follow from a project or a user are omitted. */
async function ownersOf(
  database: Database,
  keys: readonly ManagedKey[],
): Promise<ReadonlyMap<number, ExportedKeyFields>> {
  const rows = await database.query<OwnerRow>(
    `SELECT k.id, u.email AS user, CASE WHEN k.project_id IS NULL THEN d.name END AS department,
            k.project_id AS project,
            CASE WHEN k.project_id IS NULL AND (d.id IS NOT NULL OR k.user_id IS NULL) THEN o.slug END AS organisation
       FROM api_key k LEFT JOIN user_account u ON u.id = k.user_id
       LEFT JOIN department d ON d.id = k.department_id
       LEFT JOIN organisation o ON o.id = coalesce(d.organisation_id, k.organisation_id)
      WHERE k.id = ANY ($1::integer[])`,
    [keys.map(({ id }) => id)],
  );
  return new Map(rows.map(({ id, ...owner }) => [id, owner]));
}
