import type { CatalogueSnapshot, ModelAudience, ModelView } from '../../catalogue';
import type { ProjectName } from '../../identity';
import { budgetPeriods, formatUsd } from '../../kernel';
import { keyFields } from '../../keys';
import {
  type ChecklistPickerModel,
  controlsOf,
  type FieldControl,
  type FieldModel,
  type MoneyFieldModel,
  type Translate,
} from '../../views';
import type { KeyFormValues } from './key-form';

export interface KeyFormChoices {
  readonly models: readonly ModelView[];
  readonly regions: readonly string[];
  readonly projects: readonly ProjectName[];
}

export function keyFormChoices(
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
    readonly plain: readonly FieldControl[];
    readonly modelBudgets: FieldModel;
    readonly limitsLocked?: FieldModel;
    readonly expires: FieldModel;
    readonly labels: FieldModel;
  };
  readonly models: ChecklistPickerModel;
  readonly regions?: ChecklistPickerModel;
}

interface KeyFormInput {
  readonly key: KeyFormValues;
  readonly choices: KeyFormChoices;
  readonly usualRate: number;
  readonly isAdministrator?: boolean;
}

export function keyFormModel(
  { key, choices, usualRate, isAdministrator = false }: KeyFormInput,
  translate: Translate,
): KeyFormModel {
  const text = (name: string): FieldText => ({
    id: `key-${name}`,
    name,
    label: translate(`keys.field.${name}`),
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
      name: { ...text('name'), value: key.name, required: true, autocomplete: 'off' },
      ...(choices.projects.length === 0
        ? {}
        : { project: projectField(choices, text('project_id'), translate) }),
      budget: budgetField(key, text('budget_limit'), translate),
      plain: controlsOf(keyFields, key, translate, { count: usualRate }),
      modelBudgets: lines(
        'model_budgets',
        key.modelBudgets
          .map(({ model, state }) => `${model} = ${formatUsd(state.limit)} ${state.period}`)
          .join('\n'),
        translate('keys.field.model-budgets-help'),
      ),
      ...(isAdministrator
        ? {
            limitsLocked: {
              ...text('limits_locked'),
              type: 'checkbox' as const,
              checked: key.limitsLock !== null,
            },
          }
        : {}),
      expires: {
        ...text('expires_on'),
        type: 'date',
        value: key.expiresAt?.toISOString().slice(0, 10) ?? '',
        optional: true,
        help: translate('keys.field.expires-help'),
      },
      labels: lines(
        'labels',
        Object.entries(key.metadata)
          .map(([name, value]) => `${name}=${value}`)
          .join('\n'),
        translate('keys.field.labels-help'),
      ),
    },
    models: modelPicker(key, choices, translate),
    ...(choices.regions.length === 0 ? {} : { regions: regionPicker(key, choices, translate) }),
  };
}

type FieldText = Pick<FieldModel, 'id' | 'name' | 'label'>;

const budgetField = ({ budget }: KeyFormValues, field: FieldText, translate: Translate): MoneyFieldModel => ({
  ...field,
  value: budget === null ? '' : formatUsd(budget.limit),
  optional: true,
  help: translate('keys.field.budget-help'),
  period: {
    name: 'budget_period',
    options: budgetPeriods.map((period) => ({
      value: period,
      label: translate(`keys.period.${period}`),
      selected: period === (budget?.period ?? 'monthly'),
    })),
  },
});

const projectField = ({ projects }: KeyFormChoices, field: FieldText, translate: Translate): FieldModel => ({
  ...field,
  type: 'select',
  optional: true,
  help: translate('keys.field.project-help'),
  options: [
    { value: '', label: translate('keys.no-project'), selected: true },
    ...projects.map(({ id, name }) => ({ value: String(id), label: name, selected: false })),
  ],
});

function modelPicker(
  { allowedModels }: KeyFormValues,
  { models }: KeyFormChoices,
  translate: Translate,
): ChecklistPickerModel {
  const picked = allowedModels ?? [];
  const owners = Map.groupBy(models, ({ ownedBy }) => ownedBy);
  const listed = new Set(models.map(({ name }) => name));
  // Keeps models that the key already allows, even if they are no longer offered.
  const unlistedModels = picked.filter((name) => !listed.has(name));
  return {
    legend: translate('keys.field.models'),
    name: 'allowed_models',
    modeName: 'models_mode',
    modes: [
      { value: 'all', label: translate('keys.all-models'), checked: allowedModels === null },
      { value: 'pick', label: translate('keys.picked-models'), checked: allowedModels !== null },
    ],
    searchId: 'key-model-search',
    groups: [
      ...[...owners].map(([owner, ownedModels]) => ({
        label: owner,
        items: ownedModels.map(({ name }) => ({ value: name, label: name, checked: picked.includes(name) })),
      })),
      ...(unlistedModels.length === 0
        ? []
        : [{ items: unlistedModels.map((name) => ({ value: name, label: name, checked: true })) }]),
    ],
    help: translate('keys.field.models-help'),
  };
}

function regionPicker(
  { allowedRegions }: KeyFormValues,
  { regions }: KeyFormChoices,
  translate: Translate,
): ChecklistPickerModel {
  const picked = allowedRegions ?? [];
  return {
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
  };
}
