import type { BannerModel, FieldModel, Translate } from '../../views';
import {
  autorouterAlgorithms,
  autorouterModes,
  type AutorouterSettings,
  availabilities,
  type QualitativeSettings,
} from './engine-settings';

export interface SettingsShown {
  readonly qualitative: QualitativeSettings;
  readonly autorouter: AutorouterSettings;
  readonly scope: string;
  /** Names of the models that may be the reference. */
  readonly models: readonly string[];
  readonly translate: Translate;
}

export interface SettingsPageModel {
  readonly scope: string;
  readonly notice: BannerModel;
  readonly qualitative: readonly FieldModel[];
  readonly autorouter: readonly FieldModel[];
}

export function settingsModel({
  qualitative,
  autorouter,
  scope,
  models,
  translate,
}: SettingsShown): SettingsPageModel {
  const text = (name: string): string => translate(`engines.${name}`);
  const choice = (name: string, values: readonly string[], chosen: string, labels: string): FieldModel => ({
    id: `setting-${name}`,
    name,
    type: 'select',
    label: text(name),
    options: values.map((value) => ({
      value,
      label: text(`${labels}.${value}`),
      selected: value === chosen,
    })),
  });
  const number = (name: string, value: number): FieldModel => ({
    id: `setting-${name}`,
    name,
    type: 'number',
    label: text(name),
    value: String(value),
    inputMode: 'numeric',
    help: text(`${name}-help`),
  });
  const yesOrNo = (name: string, chosen: boolean): FieldModel =>
    choice(name, ['on', 'off'], chosen ? 'on' : 'off', 'switch');
  return {
    scope,
    notice: { tone: 'info', title: text('off-title'), text: text('off-text') },
    qualitative: [
      choice('availability', availabilities, qualitative.availability, 'availabilities'),
      number('sampling_percent', qualitative.sampling_percent),
      number('content_retention_days', qualitative.content_retention_days),
      yesOrNo('redaction', qualitative.redaction),
    ],
    autorouter: [
      choice('mode', autorouterModes, autorouter.mode, 'modes'),
      choice('algorithm', autorouterAlgorithms, autorouter.algorithm, 'algorithms'),
      number('dial', autorouter.dial),
      {
        id: 'setting-reference_model',
        name: 'reference_model',
        type: 'select',
        label: text('reference_model'),
        options: [
          { value: '', label: text('first-model'), selected: autorouter.reference_model === null },
          ...models.map((name) => ({
            value: name,
            label: name,
            selected: name === autorouter.reference_model,
          })),
        ],
      },
      yesOrNo('locked', autorouter.locked),
    ],
  };
}
