import { IsNull } from 'typeorm';
import { fault } from '../kernel';
import type { Tx } from '../platform';
import { checkName } from './catalogue-rules';
import { Lane, Model, ModelAlias } from './entities';

export type FixtureOutcome = 'created' | 'repaired' | 'unchanged';

const OWNER = 'admin-fixture';
const fixtureFields = {
  ownedBy: OWNER,
  kind: 'chat',
  state: 'hidden',
  restricted: true,
  redirectTo: null,
  overflowTo: null,
  fixture: true,
} as const satisfies Partial<Model>;

/**
 * Creates or repairs a model for trying the administration. Its `fixture` mark keeps its lanes and redirect out of the
 * snapshot; the caller holds the catalogue's lock.
 */
export async function ensureAdminFixture(tx: Tx, name: string): Promise<FixtureOutcome> {
  checkName(name, 'model');
  const existing = await tx.findOneBy(Model, { name });
  if (existing === null) {
    if (await tx.existsBy(ModelAlias, { name }))
      throw fault('alias_redirect_conflict', { param: 'model', message: 'An alias has this name.' });
    await tx.insert(Model, { name, displayName: name, ...fixtureFields });
    return 'created';
  }
  if (!existing.fixture)
    throw fault('conflict', { param: 'model', message: 'A model of another kind has this name.' });
  const { affected: lanes } = await tx.update(
    Lane,
    { modelId: existing.id, removedAt: IsNull() },
    { removedAt: new Date() },
  );
  const isIntact = Object.entries(fixtureFields).every(
    ([field, value]) => Reflect.get(existing, field) === value,
  );
  if (isIntact && lanes === 0) return 'unchanged';
  await tx.update(Model, { id: existing.id }, fixtureFields);
  return 'repaired';
}
