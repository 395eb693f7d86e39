import type { Tx } from '../../../platform';
import type { Current, CurrentModel } from '../current';
import type { Steps } from '../step';
import type { Desired } from './desired';
import type { FileFault } from './file-fault';

/** These models are there by name or alias once the file is applied. */
export interface ComingModels {
  model(name: string): { readonly name: string; readonly state: string } | undefined;
}

/** Plans the keys of a file. They stand above the catalogue, so that another module does it. */
export interface KeyPlanner {
  plan(
    tx: Tx,
    desired: Pick<Desired, 'keys' | 'managesKeys'>,
    models: ComingModels,
    faults: FileFault[],
  ): Promise<Steps>;
}

/** Pages have no planner of keys: they could not hand over a secret safely. */
export async function planKeys(
  tx: Tx,
  desired: Desired,
  current: Current,
  { planner, faults }: { readonly planner: KeyPlanner | undefined; readonly faults: FileFault[] },
): Promise<Steps> {
  if (planner !== undefined) return planner.plan(tx, desired, comingModels(desired, current), faults);
  const warnings =
    desired.keys.length === 0 ? [] : ['keys are left alone: the command line applies those of a file'];
  return { steps: [], gone: [], warnings };
}

function comingModels(desired: Desired, current: Current): ComingModels {
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
