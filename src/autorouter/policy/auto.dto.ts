import { MODEL_PATTERN } from '../../catalogue';
import {
  fault,
  nonEmptyLine,
  formatUsd,
  matching,
  type Nano,
  nanoPerUsd,
  typedDollars,
  type ValidationIssue,
  wordsOf,
} from '../../kernel';
import { ROUTER_ALGORITHMS } from '../engine';
import {
  IfPresent,
  IsFlag,
  IsLine,
  IsNumberBetween,
  IsVerbatimLine,
  IsWholeNumber,
  ParsedBy,
} from '../../web';
import { autoModes } from './auto-settings';
import type { AutoSettingsChange } from './auto-settings.store';

const MAX_PATTERNS = 200;
const MAX_COST: Nano = 1_000n * nanoPerUsd;

const name = nonEmptyLine(128).orNone();
const patterns = wordsOf(
  matching(MODEL_PATTERN, 'names of models, in which * stands for any characters'),
  MAX_PATTERNS,
);

/** Settings of one level from a form or JSON. A missing field is left unchanged; an empty one resets it. */
export class AutoForm {
  /** Other values are refused with `unsupported_auto_mode`. */
  @ParsedBy(name.withSchema({ enum: autoModes }))
  mode?: string | null;

  @ParsedBy(name.withSchema({ enum: ROUTER_ALGORITHMS }))
  algorithm?: string | null;

  @IsWholeNumber(0, 10, { clearable: true })
  dial?: number | null;

  @IsLine(128, { clearable: true })
  reference_model?: string | null;

  /** A list, or names separated by commas or spaces; `*` stands for any characters. */
  @ParsedBy(patterns, { clearable: true })
  include?: string[] | null;

  @ParsedBy(patterns, { clearable: true })
  exclude?: string[] | null;

  @IsNumberBetween(0, 1, { clearable: true })
  min_quality?: number | null;

  /** In US dollars. */
  @ParsedBy(typedDollars.orNone().withSchema({ maximum: Number(MAX_COST / nanoPerUsd) }))
  max_cost_per_request?: Nano | null;

  @IsWholeNumber(1, 600_000, { clearable: true })
  latency_target_ms?: number | null;

  @IsFlag({ clearable: true })
  stickiness?: boolean | null;

  @IsWholeNumber(1, 1_440, { clearable: true })
  stickiness_minutes?: number | null;

  @IsLine(128, { clearable: true })
  fallback_model?: string | null;

  @IsFlag({ clearable: true })
  locked?: boolean | null;

  @IfPresent()
  @IsVerbatimLine(64)
  version?: string;
}

/** The change that a form requests. Models it names must be in the catalogue. */
export function readAutoForm(
  { mode, algorithm, max_cost_per_request: cost, version: _version, ...form }: AutoForm,
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
    mode: requireOneOf(mode, autoModes, () =>
      fault('unsupported_auto_mode', { status: 422, ...notOneOfError('mode', autoModes) }),
    ),
    algorithm: requireOneOf(algorithm, ROUTER_ALGORITHMS, () =>
      fault('unsupported_autorouter_algorithm', {
        status: 422,
        ...notOneOfError('algorithm', ROUTER_ALGORITHMS),
      }),
    ),
    max_cost_per_request: cost === undefined || cost === null ? cost : checkedCost(cost),
  };
}

const notOneOfError = (param: string, names: readonly string[]) => ({
  param,
  message: `${param} is one of ${names.join(', ')}.`,
  details: {
    reason: 'not-offered',
    errors: [
      { loc: ['body', param], msg: `${param} must be one of ${names.join(', ')}`, type: 'isIn' },
    ] satisfies ValidationIssue[],
  },
});

function requireOneOf<Name extends string>(
  value: string | null | undefined,
  names: readonly Name[],
  refusal: () => Error,
): Name | null | undefined {
  if (value === undefined || value === null) return value;
  const name = names.find((each) => each === value);
  if (name === undefined) throw refusal();
  return name;
}

function checkedCost(cost: Nano): string {
  if (cost > 0n && cost <= MAX_COST) return formatUsd(cost);
  throw fault('validation_error', {
    param: 'max_cost_per_request',
    message: `max_cost_per_request is an amount of US dollars above 0 and up to ${formatUsd(MAX_COST)}.`,
    details: { reason: 'dollars', most: Number(MAX_COST / nanoPerUsd) },
  });
}
