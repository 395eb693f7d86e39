import { CatalogueEditor } from '../../catalogue-editor.service';
import { PriceService } from '../../price.service';
import type { CredentialKeeper } from './credential-keeper';
import type { Current } from '../current';
import type { Desired } from './desired';
import type { FieldChange } from '../field-texts';
import type { Step } from '../step';

const editor = new CatalogueEditor();
const prices = new PriceService();
const nowhere = { path: '', line: 1 };

/**
 * The steps put away what the file kept once and keeps no longer. Nothing is deleted that a record may point
 * at: providers are hidden, models paused, and from then on no file keeps them.
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
    return [
      gone({
        kind: 'alias',
        name,
        field: 'model',
        before: model,
        after: null,
        run: (tx) => editor.removeAlias(tx, name),
      }),
    ];
  });
}

function goneSchedules(desired: Desired, current: Current): Step[] {
  return desired.models.flatMap(({ name, schedules }): Step[] => {
    const starts = new Set(schedules?.map(({ startsAt }) => startsAt.getTime()));
    const known = schedules === null ? [] : (current.models.get(name)?.schedules ?? []);
    return known.flatMap(({ id, startsAt }) => {
      if (starts.has(startsAt.getTime())) return [];
      const field = `schedule ${startsAt.toISOString()}`;
      return [
        gone({
          kind: 'model',
          name,
          field,
          before: 'planned',
          after: null,
          run: (tx) => prices.deleteSchedule(tx, name, id),
        }),
      ];
    });
  });
}

function goneModels(desired: Desired, current: Current): Step[] {
  const wanted = new Set(desired.models.map(({ name }) => name));
  return [...current.models.values()].flatMap(({ name, managed, state }): Step[] => {
    if (!managed || wanted.has(name)) return [];
    const isServed = state === 'active' || state === 'hidden';
    return [
      gone({
        kind: 'model',
        name,
        field: 'state',
        before: state,
        after: isServed ? 'paused' : state,
        async run(tx) {
          await editor.upsertModel(tx, { name, managed: false });
          if (isServed) await editor.setState(tx, name, 'paused');
        },
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
        : [
            gone({
              kind: 'provider',
              name,
              field: `secret ${label}`,
              before: 'set',
              after: null,
              run: (tx) => keeper.disable(tx, id),
            }),
          ],
    );
  });
}

function goneProviders(desired: Desired, current: Current): Step[] {
  const wanted = new Set(desired.providers.map(({ name }) => name));
  return [...current.providers.values()].flatMap(({ name, managed, visible }): Step[] => {
    if (!managed || wanted.has(name)) return [];
    return [
      gone({
        kind: 'provider',
        name,
        field: 'visible',
        before: String(visible),
        after: 'false',
        run: (tx) => editor.upsertProvider(tx, { name, visible: false, managed: false }),
      }),
    ];
  });
}

interface Gone extends FieldChange, Pick<Step, 'kind' | 'name' | 'run'> {}

const gone = ({ kind, name, run, ...change }: Gone): Step => ({
  at: nowhere,
  kind,
  name,
  mark: 'gone',
  changes: [change],
  needs: [],
  run,
});
