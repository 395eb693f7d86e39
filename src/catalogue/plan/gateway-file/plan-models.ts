import { CatalogueEditor } from '../../catalogue-editor.service';
import { modelFields } from '../../entities';
import type { Tx } from '../../../platform';
import type { Current, CurrentModel } from '../current';
import type { Desired, DesiredModel } from './desired';
import { changesBetween, type FieldChange, laneTexts, modelTexts, noTexts } from '../field-texts';
import { modelNamed, providerNamed, type Step } from '../step';

const editor = new CatalogueEditor();

/** The plan makes models with their chains. References between models come later, when all models exist. */
export function planModels(desired: Desired, current: Current, once: boolean): Step[] {
  return desired.models.flatMap((model) => {
    const known = current.models.get(model.name);
    const managed = !once || (known?.managed ?? false);
    const texts = known === undefined ? noTexts : modelTexts(known);
    const fields = changesBetween(texts, modelTexts({ ...model, managed })).filter(
      ({ field }) => !once || field !== 'managed',
    );
    const lanes = changesBetween(laneTexts(known?.lanes ?? []), laneTexts(model.lanes));
    const steps: Step[] = [];
    if (fields.length > 0) steps.push(fieldsStep({ ...model, managed }, known, fields));
    if (lanes.length > 0) steps.push(lanesStep(model, known, lanes));
    return steps;
  });
}

const markOf = (known: CurrentModel | undefined): Step['mark'] => (known === undefined ? 'new' : 'changed');

function fieldsStep(
  model: DesiredModel & { readonly managed: boolean },
  known: CurrentModel | undefined,
  changes: FieldChange[],
): Step {
  return {
    at: model.at,
    kind: 'model',
    name: model.name,
    mark: markOf(known),
    changes,
    needs: [],
    async run(tx: Tx) {
      const { state, ...fields } = modelFields.pick(model);
      await editor.upsertModel(tx, { ...fields, name: model.name, managed: model.managed });
      if (state !== (known?.state ?? 'active')) await editor.setState(tx, model.name, state);
    },
  };
}

function lanesStep(model: DesiredModel, known: CurrentModel | undefined, changes: FieldChange[]): Step {
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
    mark: markOf(known),
    changes,
    needs: [modelNamed(model.name), ...model.lanes.map(({ provider }) => providerNamed(provider))],
    run: (tx) => editor.setLanes(tx, model.name, inputs),
  };
}

/** One model names another in these ways, each with its own setter. */
const links = {
  redirect: (tx: Tx, model: string, target: string | null) => editor.setRedirect(tx, model, target),
  overflow: (tx: Tx, model: string, target: string | null) => editor.setOverflow(tx, model, target),
};
export type Link = keyof typeof links;

/** Circles are refused at every step, so the redirects that change are all cleared before any is set. */
export function planLinks(link: Link, desired: Desired, current: Current): Step[] {
  const changing = desired.models.flatMap((model) => {
    const before = current.models.get(model.name)?.[link] ?? null;
    const target = model[link]?.target ?? null;
    // An alias may stand for the target.
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

function linkStep(link: Link, model: DesiredModel, target: string | null): Omit<Step, 'changes'> {
  return {
    at: model[link]?.at ?? model.at,
    kind: 'model',
    name: model.name,
    mark: 'changed',
    needs: [modelNamed(model.name), ...(target === null ? [] : [modelNamed(target)])],
    run: (tx) => links[link](tx, model.name, target),
  };
}

export function planAliases(desired: Desired, current: Current): Step[] {
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
        needs: [modelNamed(alias.model)],
        async run(tx) {
          if (before !== null) await editor.removeAlias(tx, alias.name);
          await editor.addAlias(tx, alias.name, alias.model);
        },
      },
    ];
  });
}

const aliasesOf = (desired: Desired, current: Current): Map<string, string> =>
  new Map([...current.aliases, ...desired.aliases.map(({ name, model }) => [name, model] as const)]);
