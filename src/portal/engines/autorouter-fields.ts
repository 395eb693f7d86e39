import { autoModes, type AutoSettings } from '../../autorouter';
import type { FieldModel, Translate } from '../../views';
import { dialText } from './autorouter-text';

/** Fields that a user can set for themselves or for a key; none if a wider level decides. */
export function autoSettingsFields(
  prefix: 'user' | 'key',
  settings: AutoSettings,
  models: readonly string[],
  translate: Translate,
): FieldModel[] {
  const text = (name: string): string => translate(`engines.${name}`);
  const select = (
    name: 'mode' | 'reference_model',
    values: readonly string[],
    labelOf: (value: string) => string,
  ): FieldModel => ({
    id: `${prefix}-${name}`,
    name,
    type: 'select',
    label: text(name),
    options: ['', ...values].map((value) => ({
      value,
      label: value === '' ? text('wider') : labelOf(value),
      selected: value === (settings[name] ?? ''),
    })),
  });
  return [
    select('mode', autoModes, (mode) => text(`modes.${mode}`)),
    {
      id: `${prefix}-dial`,
      name: 'dial',
      type: 'select',
      label: text('dial'),
      options: [
        { value: '', label: text('wider'), selected: settings.dial === undefined },
        ...Array.from({ length: 11 }, (_, dial) => ({
          value: String(dial),
          label: dialText(dial, { translate }),
          selected: settings.dial === dial,
        })),
      ],
      help: text('dial-help'),
    },
    select('reference_model', models, (model) => model),
  ];
}
