import { CatalogueEditor, PriceService } from '../../catalogue';
import type { CredentialKeeper } from './credential-keeper';
import type { Current } from './current';
import type { Desired } from './desired';
import { modelNamed, providerNamed, type Step } from './step';

const editor = new CatalogueEditor();
const prices = new PriceService();
const nowhere = { path: '', line: 1 };

/**
 * What the file kept once and keeps no longer. Nothing is deleted that a record may point at: providers are hidden,
 * models paused, and from then on nobody's file keeps them.
 */
export function planGone(desired: Desired, current: Current, keeper: CredentialKeeper): Step[] {
  return [
    ...goneAliases(desired, current),
    ...goneSchedules(desired, current),
    ...goneModels(desired, current),
    ...goneCredentials(desired, current, keeper),
    ...goneProviders(desired, current),
  ];
}

function goneAliases(desired: Desired, current: Current): Step[] {
  const wanted = new Set(desired.aliases.map(({ name }) => name));
  const kept = new Set(desired.models.map(({ name }) => name));
  return [...current.aliases].flatMap(([name, model]): Step[] => {
    const isOurs = kept.has(model) || current.models.get(model)?.managed === true;
    if (wanted.has(name) || !isOurs) return [];
    return [gone(`alias ${name}`, 'model', model, null, (tx) => editor.removeAlias(tx, name))];
  });
}

function goneSchedules(desired: Desired, current: Current): Step[] {
  return desired.models.flatMap(({ name, schedules }): Step[] => {
    const starts = new Set(schedules?.map(({ startsAt }) => startsAt.getTime()));
    const known = schedules === null ? [] : (current.models.get(name)?.schedules ?? []);
    return known.flatMap(({ id, startsAt }) => {
      if (starts.has(startsAt.getTime())) return [];
      const field = `schedule ${startsAt.toISOString()}`;
      return [gone(modelNamed(name), field, 'planned', null, (tx) => prices.deleteSchedule(tx, name, id))];
    });
  });
}

function goneModels(desired: Desired, current: Current): Step[] {
  const wanted = new Set(desired.models.map(({ name }) => name));
  return [...current.models.values()].flatMap(({ name, managed, state }): Step[] => {
    if (!managed || wanted.has(name)) return [];
    const isServed = state === 'active' || state === 'hidden';
    return [
      gone(modelNamed(name), 'state', state, isServed ? 'paused' : state, async (tx) => {
        await editor.upsertModel(tx, { name, managed: false });
        if (isServed) await editor.setState(tx, name, 'paused');
      }),
    ];
  });
}

function goneCredentials(desired: Desired, current: Current, keeper: CredentialKeeper): Step[] {
  return desired.providers.flatMap(({ name, credentials }): Step[] => {
    const known = current.providers.get(name);
    if (known?.managed !== true) return [];
    const wanted = new Set(credentials.map(({ label }) => label));
    return Object.entries(known.credentials).flatMap(([label, id]) =>
      wanted.has(label)
        ? []
        : [gone(providerNamed(name), `secret ${label}`, 'set', null, (tx) => keeper.disable(tx, id))],
    );
  });
}

function goneProviders(desired: Desired, current: Current): Step[] {
  const wanted = new Set(desired.providers.map(({ name }) => name));
  return [...current.providers.values()].flatMap(({ name, managed, visible }): Step[] => {
    if (!managed || wanted.has(name)) return [];
    return [
      gone(providerNamed(name), 'visible', String(visible), 'false', (tx) =>
        editor.upsertProvider(tx, { name, visible: false, managed: false }),
      ),
    ];
  });
}

function gone(what: string, field: string, before: string, after: string | null, run: Step['run']): Step {
  return { at: nowhere, what, mark: 'gone', changes: [{ field, before, after }], needs: [], run };
}
