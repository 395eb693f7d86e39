import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { InputField, nonEmptyLine, momentIn, parseJsonText } from '../../kernel';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsInt,
  IsISO8601,
  IsObject,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
  ParsedBy,
} from '../../platform';
import { IsDollarText } from '../pages/fields';

/**
 * Decorators for fields of both HTML forms and JSON. A form sends text: empty for blank fields, and repeated fields for
 * a list.
 */

type TransformInput = { readonly value: unknown };

const lastOf = (value: unknown): unknown => (Array.isArray(value) ? (value as unknown[]).at(-1) : value);
const trimmed = ({ value }: TransformInput): unknown => (typeof value === 'string' ? value.trim() : value);
const truths = new Map<unknown, boolean>([
  ...['on', 'true', 'yes', '1', true].map((word) => [word, true] as const),
  ...['off', 'false', 'no', '0', '', false].map((word) => [word, false] as const),
]);

/** Accepts a boolean, or a checkbox preceded by a hidden `off`. */
export const Flag = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: TransformInput) => truths.get(lastOf(value)) ?? value),
    IsBoolean(),
  );

export const Line = (maxLength: number): PropertyDecorator => ParsedBy(nonEmptyLine(maxLength));

export const LineOrNone = (maxLength: number): PropertyDecorator =>
  ParsedBy(nonEmptyLine(maxLength).orNone());

export const Integer = (min: number, max: number): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: TransformInput) =>
      typeof value === 'string' && /^\d{1,12}$/.test(value.trim())
        ? Number(value)
        : value === ''
          ? null
          : value,
    ),
    IsInt(),
    Min(min),
    Max(max),
  );

/** Dollars as text or a number; an empty text becomes null. */
export const Usd = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: TransformInput) =>
      value === '' ? null : typeof value === 'number' ? String(value) : trimmed({ value }),
    ),
    IsOptional(),
    IsDollarText(7),
  );

/** A list, or a text separated by commas or line breaks. */
export const TextList = (maxItems: number, maxLength = 128): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: TransformInput) =>
      typeof value === 'string'
        ? value
            .split(/[,\n]/)
            .map((word) => word.trim())
            .filter((word) => word !== '')
        : value,
    ),
    IsArray(),
    ArrayMaxSize(maxItems),
    IsString({ each: true }),
    MaxLength(maxLength, { each: true }),
  );

/** Text or an object of several parts; the provider's style defines its credentials. */
export const Secret = (): PropertyDecorator =>
  ParsedBy(
    new InputField<unknown>({
      schema: { type: ['string', 'object', 'null'] },
      read: (input) => input,
    }).optional(),
  );

export const Repeated = (maxItems: number): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: TransformInput) => (typeof value === 'string' ? [value] : value)),
    IsArray(),
    ArrayMinSize(1),
    ArrayMaxSize(maxItems),
    IsString({ each: true }),
    MaxLength(256, { each: true }),
  );

export const RepeatedColumn = (): PropertyDecorator => applyDecorators(IsOptional(), Repeated(64));

export const SettingsObject = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: TransformInput) => (typeof value === 'string' ? parseObject(value) : value)),
    IsObject(),
  );

export const Instant = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: TransformInput) =>
      value === '' ? null : typeof value === 'string' ? momentIn(value).text : value,
    ),
    IsISO8601({ strict: true }),
  );

function parseObject(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return parseJsonText(text);
  } catch {
    return text;
  }
}
