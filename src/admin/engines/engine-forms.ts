import { applyDecorators } from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { IsBoolean, IsIn, IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';
import { availabilities, type QualitySettings } from '../../quality';
import { AutoForm } from '../../routing';

const LARGEST_ID = 2_147_483_647;

const IsId = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) => (value === '' ? undefined : Number(value))),
    IsInt(),
    Min(1),
    Max(LARGEST_ID),
  );
const IsWhole = (least: number, most: number): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    Type(() => Number),
    IsInt(),
    Min(least),
    Max(most),
  );

/** On or off, in a form or in JSON. */
const IsChoice = (): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    Transform(({ value }: { value: unknown }) =>
      value === 'on' || value === 'true' ? true : value === 'off' || value === 'false' ? false : value,
    ),
    IsBoolean(),
  );

export class OrganisationAutorouterForm extends AutoForm {
  /** Without it, the organisation that the administration's view shows. */
  @IsOptional()
  @IsId()
  org_id?: number;
}

export class KeyAutorouterForm extends AutoForm {
  @IsId()
  key_id: number;
}

/** What a form says of automatic routing; its version is of what it changes first. */
export function autoPartOf(form: QualitativeForm): AutoForm | null {
  const given = autoFields.filter((name) => form[name] !== undefined);
  return given.length === 0 ? null : Object.fromEntries(given.map((name) => [name, form[name]]));
}

/** What it says of quality reports, but for the judge, whose name is checked. */
export function qualityPartOf(form: QualitativeForm): Partial<QualitySettings> {
  const given = qualityFields.filter((name) => form[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, form[name]]));
}

const qualityFields = [
  'availability',
  'sampling_percent',
  'sample_named',
  'replay',
  'monthly_budget',
  'content_retention_days',
  'redaction',
] as const satisfies readonly (keyof QualitySettings)[];

const autoFields = [
  'mode',
  'algorithm',
  'dial',
  'reference_model',
  'include',
  'exclude',
  'min_quality',
  'max_cost_per_request',
  'latency_target_ms',
  'stickiness',
  'stickiness_minutes',
  'fallback_model',
  'locked',
] as const satisfies readonly (keyof AutoForm)[];

/** Of quality reports, and of automatic routing beside them. */
export class QualitativeForm extends AutoForm {
  @IsOptional()
  @IsId()
  org_id?: number;

  @IsOptional()
  @IsIn(availabilities)
  availability?: QualitySettings['availability'];

  @IsWhole(0, 100)
  sampling_percent?: number;

  /** Also requests that name their model. */
  @IsChoice()
  sample_named?: boolean;

  @IsChoice()
  replay?: boolean;

  /** In whole US dollars a calendar month. */
  @IsWhole(0, 100_000)
  monthly_budget?: number;

  /** Empty for the dearest that the organisation may call. */
  @IsOptional()
  @IsString()
  @MaxLength(200)
  judge_model?: string;

  @IsWhole(0, 30)
  content_retention_days?: number;

  @IsChoice()
  redaction?: boolean;

  /** Of this key alone: whether its requests are kept out of every evaluation. */
  @IsOptional()
  @IsId()
  key_id?: number;

  @IsChoice()
  excluded?: boolean;
}
