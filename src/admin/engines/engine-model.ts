import { versionOf } from '../../kernel';
import type { BannerModel, FieldModel, LabelledFigure, Translate } from '../../views';
import { autoModes, type AutoSettings, ROUTER_ALGORITHMS } from '../../autorouter';
import { availabilities, type QualityEnvelope, type QualitySettings } from '../../quality';

export interface EngineSettingsContext {
  readonly qualitative: QualitySettings;
  readonly envelope: QualityEnvelope;
  readonly isPlatform: boolean;
  readonly autorouter: AutoSettings;
  /** Period and counts, by reason, of recent samples that produced no evaluation. */
  readonly endedScope: string;
  readonly ended: readonly { readonly reason: string; readonly count: number }[];
  readonly scope: string;
  readonly models: readonly string[];
  readonly translate: Translate;
}

export interface EngineSettingsPageModel {
  readonly scope: string;
  readonly notice: BannerModel;
  readonly limit: BannerModel | null;
  readonly qualitative: readonly FieldModel[];
  readonly autorouter: readonly FieldModel[];
  readonly ended: { readonly scope: string; readonly items: readonly LabelledFigure[] } | null;
  readonly versions: { readonly qualitative: string; readonly autorouter: string };
}

function fieldBuilders(translate: Translate) {
  const text = (name: string): string => translate(`engines.${name}`);
  const choice = (
    name: string,
    values: readonly string[],
    selectedValue: string,
    labels: string,
  ): FieldModel => ({
    id: `setting-${name}`,
    name,
    type: 'select',
    label: text(name),
    options: values.map((value) => ({
      value,
      label: text(`${labels}.${value}`),
      selected: value === selectedValue,
    })),
  });
  const number = (name: string, value: number, help = text(`${name}-help`)): FieldModel => ({
    id: `setting-${name}`,
    name,
    type: 'number',
    label: text(name),
    value: String(value),
    inputMode: 'numeric',
    help,
  });
  const yesOrNo = (name: string, isSelected: boolean): FieldModel =>
    choice(name, ['on', 'off'], isSelected ? 'on' : 'off', 'switch');
  return { text, choice, number, yesOrNo };
}

export function engineSettingsModel({
  qualitative,
  envelope,
  isPlatform,
  autorouter,
  ended,
  endedScope,
  scope,
  models,
  translate,
}: EngineSettingsContext): EngineSettingsPageModel {
  const { text, choice, number, yesOrNo } = fieldBuilders(translate);
  const envelopeFields = (): readonly FieldModel[] => [
    {
      ...choice('availability', availabilities, qualitative.availability, 'availabilities'),
      label: text('most-availability'),
    },
    {
      ...number('monthly_budget', qualitative.monthly_budget, text('most-budget-help')),
      label: text('most-budget'),
    },
  ];
  const ownFields = (): readonly FieldModel[] => [
    choice('availability', availabilities, qualitative.availability, 'availabilities'),
    number('sampling_percent', qualitative.sampling_percent),
    yesOrNo('sample_named', qualitative.sample_named),
    yesOrNo('replay', qualitative.replay),
    number(
      'monthly_budget',
      qualitative.monthly_budget,
      translate('engines.monthly_budget-help', { most: envelope.monthly_budget }),
    ),
    {
      id: 'setting-judge_model',
      name: 'judge_model',
      type: 'select',
      label: text('judge_model'),
      options: [
        { value: '', label: text('usual-judge'), selected: qualitative.judge_model === null },
        ...models.map((name) => ({ value: name, label: name, selected: name === qualitative.judge_model })),
      ],
    },
    number('content_retention_days', qualitative.content_retention_days),
    yesOrNo('redaction', qualitative.redaction),
  ];
  return {
    scope,
    notice: { tone: 'info', title: text('privacy-title'), text: text('privacy-text') },
    limit: isPlatform || envelope.availability === 'everyone' ? null : limitNotice(envelope, text),
    qualitative: isPlatform ? envelopeFields() : ownFields(),
    autorouter: autorouterFields(autorouter, models, translate),
    ended:
      ended.length === 0 ? null : { scope: endedScope, items: ended.map((row) => endedFigure(row, text)) },
    versions: { qualitative: versionOf(qualitative), autorouter: versionOf(autorouter) },
  };
}

const endedFigure = (
  { reason, count }: EngineSettingsContext['ended'][number],
  text: (name: string) => string,
): LabelledFigure => ({ label: text(`ended.${reason}`), figure: { kind: 'number', value: count } });

const limitNotice = ({ availability }: QualityEnvelope, text: (name: string) => string): BannerModel => ({
  tone: 'warn',
  title: text('limit-title'),
  text: text(availability === 'off' ? 'limit-off' : 'limit-admins'),
});

/** Fields of one level's settings for `auto`; empty if a wider level decides. */
function autorouterFields(
  settings: AutoSettings,
  models: readonly string[],
  translate: Translate,
): readonly FieldModel[] {
  const text = (name: string): string => translate(`engines.${name}`);
  type Name = keyof AutoSettings;
  const select = (name: Name, names: readonly string[], labelOf: (value: string) => string): FieldModel => {
    const selectedValue = settings[name]?.toString() ?? '';
    return {
      id: `setting-${name}`,
      name,
      type: 'select',
      label: text(name),
      options: ['', ...names].map((value) => ({
        value,
        label: value === '' ? text('wider') : labelOf(value),
        selected: value === selectedValue,
      })),
    };
  };
  const input = (name: Name, inputMode?: 'numeric' | 'decimal'): FieldModel => ({
    id: `setting-${name}`,
    name,
    type: 'text',
    label: text(name),
    value: textOf(settings[name]),
    ...(inputMode === undefined ? {} : { inputMode }),
    help: text(`${name}-help`),
  });
  const yesOrNo = (name: 'stickiness' | 'locked'): FieldModel =>
    select(name, ['true', 'false'], (value) => text(value === 'true' ? 'switch.on' : 'switch.off'));
  return [
    select('mode', autoModes, (value) => text(`modes.${value}`)),
    select('algorithm', ROUTER_ALGORITHMS, (value) => text(`algorithms.${value}`)),
    input('dial', 'numeric'),
    select('reference_model', models, (value) => value),
    select('fallback_model', models, (value) => value),
    input('include'),
    input('exclude'),
    input('min_quality', 'decimal'),
    input('max_cost_per_request', 'decimal'),
    input('latency_target_ms', 'numeric'),
    yesOrNo('stickiness'),
    input('stickiness_minutes', 'numeric'),
    yesOrNo('locked'),
  ];
}

const textOf = (value: AutoSettings[keyof AutoSettings]): string =>
  typeof value === 'object' ? value.join(', ') : (value?.toString() ?? '');
