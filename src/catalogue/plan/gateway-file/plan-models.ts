import { modelFields } from '../../entities';
import type { CurrentCatalogue, CurrentModel } from '../current.query';
import type { DesiredCatalogue, DesiredModel } from './desired';
import { changesBetween, type FieldChange, laneTexts, modelTexts, NO_TEXTS } from '../field-texts';
import { modelLabel, providerLabel, type Step } from '../step';

/** Plans models with their lanes. References between models follow once all models exist. */
export function planModels(desired: DesiredCatalogue, current: CurrentCatalogue, once: boolean): Step[] {
  return desired.models.flatMap((model) => {
    const existing = current.models.get(model.name);
    const managed = !once || (existing?.managed ?? false);
    const texts = existing === undefined ? NO_TEXTS : modelTexts(existing);
    const fields = changesBetween(texts, modelTexts({ ...model, managed })).filter(
      ({ field }) => !once || field !== 'managed',
    );
    const lanes = changesBetween(laneTexts(existing?.lanes ?? []), laneTexts(model.lanes));
    const steps: Step[] = [];
    if (fields.length > 0) steps.push(fieldsStep({ ...model, managed }, existing, fields));
    if (lanes.length > 0) steps.push(lanesStep(model, existing, lanes));
    return steps;
  });
}

const markOf = (existing: CurrentModel | undefined): Step['mark'] =>
  existing === undefined ? 'new' : 'changed';

function fieldsStep(
  model: DesiredModel & { readonly managed: boolean },
  existing: CurrentModel | undefined,
  changes: FieldChange[],
): Step {
  return {
    at: model.at,
    kind: 'model',
    name: model.name,
    mark: markOf(existing),
    changes,
    needs: [],
    async run(tx, { editor }) {
      const { state, ...fields } = modelFields.pick(model);
      await editor.upsertModel(tx, { ...fields, name: model.name, managed: model.managed });
      if (state !== (existing?.state ?? 'active')) await editor.setState(tx, model.name, state);
    },
  };
}

function lanesStep(model: DesiredModel, existing: CurrentModel | undefined, changes: FieldChange[]): Step {
  const inputs = model.lanes.map(
    ({ provider, upstreamModel, region, priority, weight, retries, facts, wire, enabled }) => ({
      provider,
      upstreamModel,
      region,
      priority,
      weight,
      retries,
      facts,
      wire,
      enabled,
    }),
  );
  return {
    at: model.lanes[0]?.at ?? model.at,
    kind: 'model',
    name: model.name,
    mark: markOf(existing),
    changes,
    needs: [modelLabel(model.name), ...model.lanes.map(({ provider }) => providerLabel(provider))],
    run: (tx, { editor }) => editor.setLanes(tx, model.name, inputs),
  };
}

const setters = { redirect: 'setRedirect', overflow: 'setOverflow' } as const;
export type ModelLink = keyof typeof setters;

/** Loops are rejected at every step, so all changed redirects are cleared before any is set. */
export function planLinks(link: ModelLink, desired: DesiredCatalogue, current: CurrentCatalogue): Step[] {
  const changing = desired.models.flatMap((model) => {
    const before = current.models.get(model.name)?.[link] ?? null;
    const target = model[link]?.target ?? null;
    // The target can be an alias.
    const after = target === null ? null : (aliasesOf(desired, current).get(target) ?? target);
    return before === after ? [] : [{ model, before, after }];
  });
  const clearing = changing.filter(({ before }) => before !== null);
  const setting = changing.filter(({ after }) => after !== null);
  return [
    ...clearing.map(({ model, before, after }) => ({
      ...linkStep(link, model, null),
      changes: after === null ? [{ field: link, before, after }] : [],
    })),
    ...setting.map(({ model, before, after }) => ({
      ...linkStep(link, model, after),
      changes: [{ field: link, before, after }],
    })),
  ];
}

function linkStep(link: ModelLink, model: DesiredModel, target: string | null): Omit<Step, 'changes'> {
  return {
    at: model[link]?.at ?? model.at,
    kind: 'model',
    name: model.name,
    mark: 'changed',
    needs: [modelLabel(model.name), ...(target === null ? [] : [modelLabel(target)])],
    run: (tx, { editor }) => editor[setters[link]](tx, model.name, target),
  };
}

export function planAliases(desired: DesiredCatalogue, current: CurrentCatalogue): Step[] {
  return desired.aliases.flatMap((alias): Step[] => {
    const before = current.aliases.get(alias.name) ?? null;
    if (before === alias.model) return [];
    return [
      {
        at: alias.at,
        kind: 'alias',
        name: alias.name,
        mark: before === null ? 'new' : 'changed',
        changes: [{ field: 'model', before, after: alias.model }],
        needs: [modelLabel(alias.model)],
        async run(tx, { editor }) {
          if (before !== null) await editor.removeAlias(tx, alias.name);
          await editor.addAlias(tx, alias.name, alias.model);
        },
      },
    ];
  });
}

const aliasesOf = (desired: DesiredCatalogue, current: CurrentCatalogue): Map<string, string> =>
  new Map([...current.aliases, ...desired.aliases.map(({ name, model }) => [name, model] as const)]);
