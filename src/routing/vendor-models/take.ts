import { type ActivityActor, type ActivityLog, changesOf } from '../../audit';
import type { ModelSheet, ModelSheets } from '../../catalogue';
import type { Tx } from '../../platform';
import { type FactsOverride, overrideFields } from '../../vendors';

interface Taking {
  readonly model: string;
  readonly facts: FactsOverride;
  readonly provider: string;
  /** Left out, it is the person who asks. */
  readonly actor?: ActivityActor;
  readonly reason?: string | undefined;
}

/** Writes a vendor's figures into the facts of a model, on record. */
export async function takeToldFacts(
  tx: Tx,
  { sheets, activity }: { readonly sheets: ModelSheets; readonly activity: ActivityLog },
  { model, facts, provider, actor, reason }: Taking,
): Promise<ModelSheet> {
  const { model: known, version } = await sheets.read(tx, model);
  const { before, after } = await sheets.change(tx, model, {
    fields: { facts: { ...known.facts, ...facts } },
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
