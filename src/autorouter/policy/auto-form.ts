import { MODEL_PATTERN } from '../../catalogue';
import {
  decimal,
  fault,
  filled,
  formatUsd,
  line,
  matching,
  type Nano,
  nanoPerUsd,
  truth,
  typedDollars,
  type ValidationIssue,
  whole,
  wordsOf,
} from '../../kernel';
import { Takes } from '../../platform';
import { ROUTER_ALGORITHMS } from '../engine';
import { autoModes } from './auto-settings';
import type { AutoSettingsChange } from './auto-settings.store';

const MOST_PATTERNS = 200;
const MOST_COST: Nano = 1_000n * nanoPerUsd;

const name = filled(128).orNone();
const patterns = wordsOf(
  matching(MODEL_PATTERN, 'names of models, in which * stands for any characters'),
  MOST_PATTERNS,
);

/** Settings of one level as a form or JSON gives them: a field that is missing stays, an empty one is taken back. */
export class AutoForm {
  /** Others have a code of their own. */
  @Takes(name.told({ enum: autoModes }))
  mode?: string | null;

  @Takes(name.told({ enum: ROUTER_ALGORITHMS }))
  algorithm?: string | null;

  @Takes(whole(0, 10).orNone())
  dial?: number | null;

  @Takes(name)
  reference_model?: string | null;

  /** A list, or names with commas or spaces between; `*` stands for any characters. */
  @Takes(patterns.orNone())
  include?: string[] | null;

  @Takes(patterns.orNone())
  exclude?: string[] | null;

  @Takes(decimal(0, 1).orNone())
  min_quality?: number | null;

  /** It is in US dollars. */
  @Takes(typedDollars.orNone().told({ maximum: Number(MOST_COST / nanoPerUsd) }))
  max_cost_per_request?: Nano | null;

  @Takes(whole(1, 600_000).orNone())
  latency_target_ms?: number | null;

  @Takes(truth.orNone())
  stickiness?: boolean | null;

  @Takes(whole(1, 1_440).orNone())
  stickiness_minutes?: number | null;

  @Takes(name)
  fallback_model?: string | null;

  @Takes(truth.orNone())
  locked?: boolean | null;

  /** It is the version of the settings that were shown. */
  @Takes(line(64).optional())
  version?: string;
}

/** The change that a form asks for. Models it names must be of the catalogue. */
export function readAutoForm(
  { mode, algorithm, max_cost_per_request: cost, version: _shown, ...form }: AutoForm,
  isModel: (name: string) => boolean,
): AutoSettingsChange {
  for (const param of ['reference_model', 'fallback_model'] as const) {
    const name = form[param];
    if (typeof name === 'string' && !isModel(name))
      throw fault('validation_error', {
        param,
        message: 'There is no such model.',
        details: { reason: 'no-model' },
      });
  }
  return {
    ...form,
    mode: known(mode, autoModes, () =>
      fault('unsupported_auto_mode', { status: 422, ...notOneOf('mode', autoModes) }),
    ),
    algorithm: known(algorithm, ROUTER_ALGORITHMS, () =>
      fault('unsupported_autorouter_algorithm', {
        status: 422,
        ...notOneOf('algorithm', ROUTER_ALGORITHMS),
      }),
    ),
    max_cost_per_request: cost === undefined || cost === null ? cost : costWithin(cost),
  };
}

const notOneOf = (param: string, names: readonly string[]) => ({
  param,
  message: `${param} is one of ${names.join(', ')}.`,
  details: {
    reason: 'not-offered',
    errors: [
      { loc: ['body', param], msg: `${param} must be one of ${names.join(', ')}`, type: 'isIn' },
    ] satisfies ValidationIssue[],
  },
});

function known<Name extends string>(
  value: string | null | undefined,
  names: readonly Name[],
  refusal: () => Error,
): Name | null | undefined {
  if (value === undefined || value === null) return value;
  const name = names.find((each) => each === value);
  if (name === undefined) throw refusal();
  return name;
}

function costWithin(cost: Nano): string {
  if (cost > 0n && cost <= MOST_COST) return formatUsd(cost);
  throw fault('validation_error', {
    param: 'max_cost_per_request',
    message: `max_cost_per_request is an amount of US dollars above 0 and up to ${formatUsd(MOST_COST)}.`,
    details: { reason: 'dollars', most: Number(MOST_COST / nanoPerUsd) },
  });
}
