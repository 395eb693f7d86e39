import type { CatalogueSnapshot, ModelAudience, ModelView } from '../../catalogue';
import type { ProjectName } from '../../identity';
import { ANSWER_MODELS, budgetPeriods, CONTINUE_STREAMS } from '../../kernel';
import type { ChecklistPickerModel, FieldModel, MoneyFieldModel, Translate } from '../../views';
import type { KeyFormValues } from './key-form';

export interface KeyFormChoices {
  readonly models: readonly ModelView[];
  readonly regions: readonly string[];
  readonly projects: readonly ProjectName[];
}

/** What may be picked: models that are open to this person, and the regions that serve them. */
export function choicesOf(
  snapshot: CatalogueSnapshot,
  audience: ModelAudience,
  projects: readonly ProjectName[],
): KeyFormChoices {
  const models = snapshot.models.filter(
    (model) => (model.state === 'active' || model.state === 'paused') && snapshot.isOpenTo(model, audience),
  );
  const regions = new Set(models.flatMap(({ lanes }) => lanes.map(({ region }) => region)));
  return { models, regions: [...regions].filter((region) => region !== '').sort(), projects };
}

export interface KeyFormModel {
  readonly fields: {
    readonly name: FieldModel;
    readonly project?: FieldModel;
    readonly budget: MoneyFieldModel;
    readonly rate: FieldModel;
    readonly tokens: FieldModel;
    readonly parallel: FieldModel;
    readonly answerModel: FieldModel;
    readonly continueStreams: FieldModel;
    readonly modelBudgets: FieldModel;
    /** Only administrators see it. */
    readonly limitsLocked?: FieldModel;
    readonly expires: FieldModel;
    readonly labels: FieldModel;
  };
  readonly models: ChecklistPickerModel;
  readonly regions?: ChecklistPickerModel;
}

interface KeyFormFacts {
  readonly values: KeyFormValues;
  readonly choices: KeyFormChoices;
  readonly usualRate: number;
  readonly isAdministrator?: boolean;
}

export function keyFormModel(
  { values, choices, usualRate, isAdministrator = false }: KeyFormFacts,
  translate: Translate,
): KeyFormModel {
  const text = (name: string): FieldText => ({
    id: `key-${name}`,
    name,
    label: translate(`keys.field.${name}`),
  });
  const count = (name: string, value: string, help: string): FieldModel => ({
    ...text(name),
    value,
    inputMode: 'numeric',
    optional: true,
    help,
  });
  const lines = (name: string, value: string, help: string): FieldModel => ({
    ...text(name),
    type: 'textarea',
    rows: 3,
    value,
    optional: true,
    help,
  });
  return {
    fields: {
      name: { ...text('name'), value: values.name, required: true, autocomplete: 'off' },
      ...(choices.projects.length === 0
        ? {}
        : { project: projectField(values, choices, text('project_id'), translate) }),
      budget: budgetField(values, text('budget_limit'), translate),
      rate: count('rate_limit_rpm', values.rate, translate('keys.field.rate-help', { count: usualRate })),
      tokens: count('rate_limit_tpm', values.tokens, translate('keys.field.tokens-help')),
      parallel: count('max_parallel', values.parallel, translate('keys.field.parallel-help')),
      answerModel: selectField(text('answer_model'), values.answerModel, ['', ...ANSWER_MODELS], translate),
      continueStreams: selectField(
        text('continue_streams'),
        values.continueStreams,
        ['', ...CONTINUE_STREAMS],
        translate,
      ),
      modelBudgets: lines('model_budgets', values.modelBudgets, translate('keys.field.model-budgets-help')),
      ...(isAdministrator
        ? {
            limitsLocked: {
              ...text('limits_locked'),
              type: 'checkbox' as const,
              checked: values.limitsLocked,
            },
          }
        : {}),
      expires: {
        ...text('expires_on'),
        type: 'date',
        value: values.expiresOn,
        optional: true,
        help: translate('keys.field.expires-help'),
      },
      labels: lines('labels', values.labels, translate('keys.field.labels-help')),
    },
    models: modelPicker(values, choices, translate),
    ...(choices.regions.length === 0 ? {} : { regions: regionPicker(values, choices, translate) }),
  };
}

type FieldText = Pick<FieldModel, 'id' | 'name' | 'label'>;

const budgetField = (
  { budgetLimit, budgetPeriod }: KeyFormValues,
  field: FieldText,
  translate: Translate,
): MoneyFieldModel => ({
  ...field,
  value: budgetLimit,
  optional: true,
  help: translate('keys.field.budget-help'),
  period: {
    name: 'budget_period',
    options: budgetPeriods.map((period) => ({
      value: period,
      label: translate(`keys.period.${period}`),
      selected: period === budgetPeriod,
    })),
  },
});

/** A choice that is left to the model unless the key makes it. */
const selectField = (
  field: FieldText,
  chosen: string,
  choices: readonly string[],
  translate: Translate,
): FieldModel => {
  const words = field.name.replace('_', '-');
  return {
    ...field,
    type: 'select',
    help: translate(`keys.field.${words}-help`),
    options: choices.map((value) => ({
      value,
      label: translate(`keys.${words}.${value || 'model'}`),
      selected: value === chosen,
    })),
  };
};

const projectField = (
  { projectId }: KeyFormValues,
  { projects }: KeyFormChoices,
  field: FieldText,
  translate: Translate,
): FieldModel => ({
  ...field,
  type: 'select',
  optional: true,
  help: translate('keys.field.project-help'),
  options: [
    { value: '', label: translate('keys.no-project'), selected: projectId === '' },
    ...projects.map(({ id, name }) => ({
      value: String(id),
      label: name,
      selected: String(id) === projectId,
    })),
  ],
});

function modelPicker(
  { picksModels, models: picked }: KeyFormValues,
  { models }: KeyFormChoices,
  translate: Translate,
): ChecklistPickerModel {
  const owners = Map.groupBy(models, ({ ownedBy }) => ownedBy);
  const listed = new Set(models.map(({ name }) => name));
  // Models a key names already stay in the list, also when they are not offered any more.
  const others = picked.filter((name) => !listed.has(name));
  return {
    legend: translate('keys.field.models'),
    name: 'allowed_models',
    modeName: 'models_mode',
    modes: [
      { value: 'all', label: translate('keys.all-models'), checked: !picksModels },
      { value: 'pick', label: translate('keys.picked-models'), checked: picksModels },
    ],
    searchId: 'key-model-search',
    groups: [
      ...[...owners].map(([owner, ofOwner]) => ({
        label: owner,
        items: ofOwner.map(({ name }) => ({ value: name, label: name, checked: picked.includes(name) })),
      })),
      ...(others.length === 0
        ? []
        : [{ items: others.map((name) => ({ value: name, label: name, checked: true })) }]),
    ],
    help: translate('keys.field.models-help'),
  };
}

const regionPicker = (
  { regions: picked }: KeyFormValues,
  { regions }: KeyFormChoices,
  translate: Translate,
): ChecklistPickerModel => ({
  legend: translate('keys.field.regions'),
  name: 'allowed_regions',
  groups: [
    {
      items: [...new Set([...regions, ...picked])].map((region) => ({
        value: region,
        label: region,
        checked: picked.includes(region),
      })),
    },
  ],
  help: translate('keys.field.regions-help'),
});
