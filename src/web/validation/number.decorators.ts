import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, Max, Min, ValidateBy } from 'class-validator';
import { decimal, dollarText, FieldError, integer, oneNumberOf, rowId } from '../../kernel';
import { type AbsenceOptions, ParsedBy } from './parsed-by.decorator';
import { ConvertText } from './transforms';

export const IsRowId = (absence?: AbsenceOptions): PropertyDecorator => ParsedBy(rowId, absence);

export const IsWholeNumber = (min: number, max: number, absence?: AbsenceOptions): PropertyDecorator =>
  ParsedBy(integer(min, max), absence);

export const IsNumberBetween = (min: number, max: number, absence?: AbsenceOptions): PropertyDecorator =>
  ParsedBy(decimal(min, max), absence);

export const IsOneNumberOf = (choices: readonly number[], absence?: AbsenceOptions): PropertyDecorator =>
  ParsedBy(oneNumberOf(choices), absence);

/** Whole number with the messages of class-validator; an empty text becomes null. */
export const IsIntBetween = (min: number, max: number): PropertyDecorator =>
  applyDecorators(
    ConvertText((text) => (/^\d{1,12}$/.test(text.trim()) ? Number(text) : text === '' ? null : text)),
    IsInt(),
    Min(min),
    Max(max),
  );

/** US dollars with up to nine decimals, as text or number. */
export const IsUsdAmount = (absence?: AbsenceOptions): PropertyDecorator => ParsedBy(dollarText(), absence);

const rateText = dollarText(7);

/** US dollars of a price, as text or number; optional, and an empty text becomes null. */
export const IsUsdRate = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) =>
      value === ''
        ? null
        : typeof value === 'number'
          ? String(value)
          : typeof value === 'string'
            ? value.trim()
            : value,
    ),
    IsOptional(),
    // A rule of class-validator, so that the error message explains the format of an amount.
    ValidateBy({
      name: 'isDollars',
      constraints: [rateText.schema],
      validator: {
        validate: (value: unknown) =>
          typeof value === 'string' && !(rateText.read(value) instanceof FieldError),
        defaultMessage: () => '$property must be an amount of US dollars, like 12.50',
      },
    }),
  );
