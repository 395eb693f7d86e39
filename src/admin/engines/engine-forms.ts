import { applyDecorators } from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { IsBoolean, IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { AutoForm } from '../../routing';
import { availabilities, type QualitativeSettings } from './engine-settings';

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

/** A choice of two, in a form or in JSON. */
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
  @IsOptional()
  @IsId()
  org_id?: number;

  @IsOptional()
  @IsIn(availabilities)
  availability?: QualitativeSettings['availability'];

  @IsWhole(0, 100)
  sampling_percent?: number;

  @IsWhole(0, 30)
  content_retention_days?: number;

  @IsChoice()
  redaction?: boolean;
}
