import type { CredentialKeeper } from './credential-keeper';
import type { CurrentCatalogue } from '../current.query';
import type { DesiredCatalogue } from './desired';
import type { FieldChange } from '../field-texts';
import type { Step } from '../step';

const NO_POSITION = { path: '', line: 1 };

/**
 * Plans the removal of objects that the file once listed and no longer lists. Objects that records can refer to are not
 * deleted: providers are hidden, models paused, and both become unmanaged.
 */
export function planRemovals(
  desired: DesiredCatalogue,
  current: CurrentCatalogue,
  keeper: CredentialKeeper,
): Step[] {
  return [
    ...aliasRemovals(desired, current),
    ...scheduleRemovals(desired, current),
    ...modelRemovals(desired, current),
    ...credentialRemovals(desired, current, keeper),
    ...providerRemovals(desired, current),
  ];
}

function aliasRemovals(desired: DesiredCatalogue, current: CurrentCatalogue): Step[] {
  const desiredNames = new Set(desired.aliases.map(({ name }) => name));
  const desiredModels = new Set(desired.models.map(({ name }) => name));
  return [...current.aliases].flatMap(([name, model]): Step[] => {
    const belongsToFile = desiredModels.has(model) || current.models.get(model)?.managed === true;
    if (desiredNames.has(name) || !belongsToFile) return [];
    return [
      removalStep({
        kind: 'alias',
        name,
        field: 'model',
        before: model,
        after: null,
        run: (tx, { editor }) => editor.removeAlias(tx, name),
      }),
    ];
  });
}

function scheduleRemovals(desired: DesiredCatalogue, current: CurrentCatalogue): Step[] {
  return desired.models.flatMap(({ name, schedules }): Step[] => {
    const starts = new Set(schedules?.map(({ startsAt }) => startsAt.getTime()));
    const existing = schedules === null ? [] : (current.models.get(name)?.schedules ?? []);
    return existing.flatMap(({ id, startsAt }) => {
      if (starts.has(startsAt.getTime())) return [];
      const field = `schedule ${startsAt.toISOString()}`;
      return [
        removalStep({
          kind: 'model',
          name,
          field,
          before: 'planned',
          after: null,
          run: (tx, { prices }) => prices.deleteSchedule(tx, name, id),
        }),
      ];
    });
  });
}

function modelRemovals(desired: DesiredCatalogue, current: CurrentCatalogue): Step[] {
  const desiredNames = new Set(desired.models.map(({ name }) => name));
  return [...current.models.values()].flatMap(({ name, managed, state }): Step[] => {
    if (!managed || desiredNames.has(name)) return [];
    const isServed = state === 'active' || state === 'hidden';
    return [
      removalStep({
        kind: 'model',
        name,
        field: 'state',
        before: state,
        after: isServed ? 'paused' : state,
        async run(tx, { editor }) {
          await editor.upsertModel(tx, { name, managed: false });
          if (isServed) await editor.setState(tx, name, 'paused');
        },
      }),
    ];
  });
}

function credentialRemovals(
  desired: DesiredCatalogue,
  current: CurrentCatalogue,
  keeper: CredentialKeeper,
): Step[] {
  return desired.providers.flatMap(({ name, credentials }): Step[] => {
    const existing = current.providers.get(name);
    if (existing?.managed !== true) return [];
    const desiredLabels = new Set(credentials.map(({ label }) => label));
    return Object.entries(existing.credentials).flatMap(([label, id]) =>
      desiredLabels.has(label)
        ? []
        : [
            removalStep({
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

function providerRemovals(desired: DesiredCatalogue, current: CurrentCatalogue): Step[] {
  const desiredNames = new Set(desired.providers.map(({ name }) => name));
  return [...current.providers.values()].flatMap(({ name, managed, visible }): Step[] => {
    if (!managed || desiredNames.has(name)) return [];
    return [
      removalStep({
        kind: 'provider',
        name,
        field: 'visible',
        before: String(visible),
        after: 'false',
        run: (tx, { editor }) => editor.upsertProvider(tx, { name, visible: false, managed: false }),
      }),
    ];
  });
}

interface Removal extends FieldChange, Pick<Step, 'kind' | 'name' | 'run'> {}

const removalStep = ({ kind, name, run, ...change }: Removal): Step => ({
  at: NO_POSITION,
  kind,
  name,
  mark: 'gone',
  changes: [change],
  needs: [],
  run,
});
