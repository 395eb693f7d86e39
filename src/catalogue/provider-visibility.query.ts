import { fault } from '../kernel';
import type { TableRow, Tx } from '../platform';

export interface VisibilityEffect {
  readonly providerId: number;
  readonly name: string;
  readonly visible: boolean;
  readonly models: number;
  /** Models that this provider serves first and that have another provider as a backup. */
  readonly movesToBackup: number;
  /** Models that only this provider serves: while it is hidden, they are unavailable. */
  readonly withoutBackup: readonly string[];
}

type ModelEffectRow = TableRow<'model', 'name'> & { readonly others: number; readonly leads: boolean };

/**
 * The chain of a model is its lanes in order, without hidden providers: backups move up, and back when the provider is
 * shown.
 */
export async function visibilityEffect(tx: Pick<Tx, 'query'>, providerId: number): Promise<VisibilityEffect> {
  const [provider] = await tx.query<TableRow<'provider', 'name, visible'>[]>(
    'SELECT name, visible FROM provider WHERE id = $1 AND removed_at IS NULL',
    [providerId],
  );
  if (provider === undefined) throw fault('not_found', { param: 'provider_id' });
  const rows = await tx.query<ModelEffectRow[]>(EFFECT, [providerId]);
  return {
    providerId,
    ...provider,
    models: rows.length,
    movesToBackup: rows.filter(({ leads, others }) => leads && others > 0).length,
    withoutBackup: rows.filter(({ others }) => others === 0).map(({ name }) => name),
  };
}

const EFFECT = `
  SELECT m.name,
         (count(*) FILTER (WHERE l.provider_id <> $1 AND p.visible))::integer AS others,
         coalesce((min(ARRAY[l.priority, l.id]) FILTER (WHERE l.provider_id = $1))
           < (min(ARRAY[l.priority, l.id]) FILTER (WHERE l.provider_id <> $1 AND p.visible)), true) AS leads
    FROM model m
    JOIN lane l ON l.model_id = m.id AND l.enabled AND l.removed_at IS NULL
    JOIN provider p ON p.id = l.provider_id
   WHERE m.state <> 'deleted'
   GROUP BY m.id
  HAVING bool_or(l.provider_id = $1)
   ORDER BY m.display_order, m.name`;
