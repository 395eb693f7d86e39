import { IsNull } from 'typeorm';
import { fault } from '../kernel';
import type { Tx } from '../platform';
import { checkName } from './catalogue-rules';
import { Lane, Model, ModelAlias } from './entities';

export type FixtureOutcome = 'created' | 'repaired' | 'unchanged';

const OWNER = 'admin-fixture';
const wanted = {
  ownedBy: OWNER,
  kind: 'chat',
  state: 'hidden',
  restricted: true,
  redirectTo: null,
  overflowTo: null,
  fixture: true,
} as const satisfies Partial<Model>;

/** A model for trying the administration; never called: its mark hides lanes and redirect from the snapshot. Under the catalogue's lock. */
export async function ensureAdminFixture(tx: Tx, name: string): Promise<FixtureOutcome> {
  checkName(name, 'model');
  const known = await tx.findOneBy(Model, { name });
  if (known === null) {
    if (await tx.existsBy(ModelAlias, { name }))
      throw fault('alias_redirect_conflict', { param: 'model', message: 'An alias has this name.' });
    await tx.insert(Model, { name, displayName: name, ...wanted });
    return 'created';
  }
  if (!known.fixture)
    throw fault('conflict', { param: 'model', message: 'A model of another kind has this name.' });
  const { affected: lanes } = await tx.update(
    Lane,
    { modelId: known.id, removedAt: IsNull() },
    { removedAt: new Date() },
  );
  const isSound = Object.entries(wanted).every(([field, value]) => Reflect.get(known, field) === value);
  if (isSound && lanes === 0) return 'unchanged';
  await tx.update(Model, { id: known.id }, wanted);
  return 'repaired';
}
