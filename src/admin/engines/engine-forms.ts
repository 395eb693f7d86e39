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

export class QualitativeForm {
  /** The version of the settings that the page showed. */
  @IsOptional()
  @IsString()
  @MaxLength(64)
  version?: string;

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
