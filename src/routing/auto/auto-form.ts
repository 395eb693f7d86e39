import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { MODEL_PATTERN } from '../../catalogue';
import { fault, formatUsd, type Nano, nanoPerUsd, parseUsd } from '../../kernel';
import { ROUTER_ALGORITHMS } from '../autorouter';
import { autoModes } from './auto-settings';
import type { AutoSettingsChange } from './auto-settings.store';

const MOST_PATTERNS = 200;
const LONGEST_NAME = 128;
const MOST_COST: Nano = 1_000n * nanoPerUsd;

/** An empty field takes back what was said. */
const nullWhenEmpty =
  (read: (value: unknown) => unknown) =>
  ({ value }: { value: unknown }): unknown =>
    value === '' || value === null || (Array.isArray(value) && value.length === 0) ? null : read(value);

const numberOf = (value: unknown): unknown => (typeof value === 'string' ? Number(value) : value);
const textOf = (value: unknown): unknown => (typeof value === 'string' ? value.trim() : value);
const choiceOf = (value: unknown): unknown =>
  value === 'on' || value === 'true' ? true : value === 'off' || value === 'false' ? false : value;
const namesOf = (value: unknown): unknown =>
  typeof value === 'string' ? value.split(/[\s,]+/).filter((name) => name !== '') : value;

const IsName = (): PropertyDecorator =>
  applyDecorators(IsOptional(), Transform(nullWhenEmpty(textOf)), IsString(), MaxLength(LONGEST_NAME));
const IsChoice = (): PropertyDecorator =>
  applyDecorators(IsOptional(), Transform(nullWhenEmpty(choiceOf)), IsBoolean());
const IsWhole = (least: number, most: number): PropertyDecorator =>
  applyDecorators(IsOptional(), Transform(nullWhenEmpty(numberOf)), IsInt(), Min(least), Max(most));
const IsPatterns = (): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    Transform(nullWhenEmpty(namesOf)),
    IsArray(),
    ArrayMaxSize(MOST_PATTERNS),
    Matches(MODEL_PATTERN, { each: true }),
  );

/** Settings of one level as a form or JSON gives them: a field that is missing stays, an empty one is taken back. */
export class AutoForm {
  @IsName()
  mode?: string | null;

  @IsName()
  algorithm?: string | null;

  @IsWhole(0, 10)
  dial?: number | null;

  @IsName()
  reference_model?: string | null;

  /** A list, or names with commas or spaces between; `*` stands for any characters. */
  @IsPatterns()
  include?: string[] | null;

  @IsPatterns()
  exclude?: string[] | null;

  @IsOptional()
  @Transform(nullWhenEmpty(numberOf))
  @IsNumber()
  @Min(0)
  @Max(1)
  min_quality?: number | null;

  /** In US dollars. */
  @IsOptional()
  @Transform(nullWhenEmpty((value) => (typeof value === 'number' ? String(value) : value)))
  @IsString()
  @MaxLength(40)
  max_cost_per_request?: string | null;

  @IsWhole(1, 600_000)
  latency_target_ms?: number | null;

  @IsChoice()
  stickiness?: boolean | null;

  @IsWhole(1, 1_440)
  stickiness_minutes?: number | null;

  @IsName()
  fallback_model?: string | null;

  @IsChoice()
  locked?: boolean | null;

  /** Of the settings that were shown. */
  @IsOptional()
  @IsString()
  @MaxLength(64)
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
    max_cost_per_request: cost === undefined || cost === null ? cost : costIn(cost),
  };
}

const notOneOf = (param: string, names: readonly string[]) => ({
  param,
  message: `${param} is one of ${names.join(', ')}.`,
  details: { reason: 'not-offered' },
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

function costIn(text: string): string {
  const refusal = fault('validation_error', {
    param: 'max_cost_per_request',
    message: `max_cost_per_request is an amount of US dollars above 0 and up to ${formatUsd(MOST_COST)}.`,
    details: { reason: 'dollars', most: Number(MOST_COST / nanoPerUsd) },
  });
  let cost: Nano;
  try {
    cost = parseUsd(text);
  } catch {
    throw refusal;
  }
  if (cost <= 0n || cost > MOST_COST) throw refusal;
  return formatUsd(cost);
}
