import type { Tx } from '../../../platform';
import type { CurrentCatalogue, CurrentModel } from '../current.query';
import type { Steps } from '../step';
import type { DesiredCatalogue } from './desired';
import type { FileFault } from './file-fault';

export interface FutureModels {
  model(name: string): { readonly name: string; readonly state: string } | undefined;
}

/** Plans the keys of a file. Implemented by another module, because keys depend on the catalogue. */
export interface KeyPlanner {
  plan(
    tx: Tx,
    desired: Pick<DesiredCatalogue, 'keys' | 'managesKeys'>,
    models: FutureModels,
    faults: FileFault[],
  ): Promise<Steps>;
}

/** Pages pass no key planner, because they could not hand over a secret safely. */
export async function planKeys(
  tx: Tx,
  desired: DesiredCatalogue,
  current: CurrentCatalogue,
  { planner, faults }: { readonly planner: KeyPlanner | undefined; readonly faults: FileFault[] },
): Promise<Steps> {
  if (planner !== undefined) return planner.plan(tx, desired, futureModels(desired, current), faults);
  const warnings =
    desired.keys.length === 0 ? [] : ['keys are left alone: the command line applies those of a file'];
  return { steps: [], gone: [], warnings };
}

function futureModels(desired: DesiredCatalogue, current: CurrentCatalogue): FutureModels {
  const models = new Map<string, Pick<CurrentModel, 'name' | 'state'>>([
    ...current.models,
    ...desired.models.map((model) => [model.name, model] as const),
  ]);
  const aliases = new Map([
    ...current.aliases,
    ...desired.aliases.map(({ name, model }) => [name, model] as const),
  ]);
  return { model: (name) => models.get(name) ?? models.get(aliases.get(name) ?? '') };
}
