import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsBoolean, IsIn, IsOptional } from 'class-validator';
import { flag, FieldError, oneOf, trueOrFalse } from '../../kernel';
import { type AbsenceOptions, ParsedBy } from './parsed-by.decorator';
import { ConvertText } from './transforms';

export const IsOneOf = (choices: readonly string[], absence?: AbsenceOptions): PropertyDecorator =>
  ParsedBy(oneOf(choices), absence);

/** `on` or `off` of a form, or a boolean. */
export const IsFlag = (absence?: AbsenceOptions): PropertyDecorator => ParsedBy(trueOrFalse, absence);

/** A boolean, or a checkbox preceded by a hidden `off`. */
export const IsCheckbox = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) => {
      const result = flag.read(value);
      return result instanceof FieldError ? value : result;
    }),
    IsBoolean(),
  );

export const IsTicked = (): PropertyDecorator => applyDecorators(IsOptional(), IsIn(['on', 'true', true]));

/** A boolean, or its text in a form. */
export const IsBooleanText = (): PropertyDecorator =>
  applyDecorators(
    ConvertText((text) => (text === 'true' ? true : text === 'false' ? false : text)),
    IsBoolean(),
  );
