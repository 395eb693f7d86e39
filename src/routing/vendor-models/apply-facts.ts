import { type ActivityActor, type ActivityLog, changesOf } from '../../audit';
import type { ModelDetail, ModelDetailService } from '../../catalogue';
import type { Tx } from '../../platform';
import { type FactsOverride, overrideFields } from '../../vendors';

interface FactsUpdate {
  readonly model: string;
  readonly facts: FactsOverride;
  readonly provider: string;
  /** Defaults to the current user. */
  readonly actor?: ActivityActor;
  readonly reason?: string | undefined;
}

/** Writes a vendor's figures into the facts of a model, with an entry in the audit log. */
export async function applyListedFacts(
  tx: Tx,
  { sheets, activity }: { readonly sheets: ModelDetailService; readonly activity: ActivityLog },
  { model, facts, provider, actor, reason }: FactsUpdate,
): Promise<ModelDetail> {
  const { model: current, version } = await sheets.read(tx, model);
  const { before, after } = await sheets.change(tx, model, {
    fields: { facts: { ...current.facts, ...facts } },
    version,
  });
  await activity.write(tx, {
    action: 'model.changed',
    object: { type: 'model', id: after.model.id, label: after.model.name },
    concerns: {},
    changes: changesOf(
      { facts: overrideFields(before.model.facts) },
      { facts: overrideFields(after.model.facts) },
    ),
    reason: reason ?? `as the list of models of ${provider} says`,
    ...(actor === undefined ? {} : { actor }),
  });
  return after;
}
