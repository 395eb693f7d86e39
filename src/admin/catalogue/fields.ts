import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { Field, filled, momentIn, parseJsonText } from '../../kernel';
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
  Takes,
} from '../../platform';
import { LooksLikeDollars } from '../pages/fields';

/**
 * Forms and JSON have these fields alike. A form sends texts: empty ones for blank fields, and a list as a
 * repeated field.
 */

type Given = { readonly value: unknown };

const lastOf = (value: unknown): unknown => (Array.isArray(value) ? (value as unknown[]).at(-1) : value);
const trimmed = ({ value }: Given): unknown => (typeof value === 'string' ? value.trim() : value);
const truths = new Map<unknown, boolean>([
  ...['on', 'true', 'yes', '1', true].map((word) => [word, true] as const),
  ...['off', 'false', 'no', '0', '', false].map((word) => [word, false] as const),
]);

/** A checkbox with a hidden `off` before it, or a boolean. */
export const Flag = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: Given) => truths.get(lastOf(value)) ?? value),
    IsBoolean(),
  );

export const Line = (most: number): PropertyDecorator => Takes(filled(most));

/** An empty text means none. */
export const LineOrNone = (most: number): PropertyDecorator => Takes(filled(most).orNone());

export const Whole = (least: number, most: number): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: Given) =>
      typeof value === 'string' && /^\d{1,12}$/.test(value.trim())
        ? Number(value)
        : value === ''
          ? null
          : value,
    ),
    IsInt(),
    Min(least),
    Max(most),
  );

/** Dollars, as a text or a number; an empty text stands for none. */
export const Usd = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: Given) =>
      value === '' ? null : typeof value === 'number' ? String(value) : trimmed({ value }),
    ),
    IsOptional(),
    LooksLikeDollars(7),
  );

/** A list, or a text with commas or line ends between its items. */
export const Words = (most: number, longest = 128): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: Given) =>
      typeof value === 'string'
        ? value
            .split(/[,\n]/)
            .map((word) => word.trim())
            .filter((word) => word !== '')
        : value,
    ),
    IsArray(),
    ArrayMaxSize(most),
    IsString({ each: true }),
    MaxLength(longest, { each: true }),
  );

/** Each style says what its credentials are: a text, or an object of several parts. */
export const Secret = (): PropertyDecorator =>
  Takes(
    new Field<unknown>({
      schema: { type: ['string', 'object', 'null'] },
      read: (given) => given,
    }).optional(),
  );

/** A field that a form repeats, once at least. */
export const Repeated = (most: number): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: Given) => (typeof value === 'string' ? [value] : value)),
    IsArray(),
    ArrayMinSize(1),
    ArrayMaxSize(most),
    IsString({ each: true }),
    MaxLength(256, { each: true }),
  );

/** It is one field of rows that a form repeats. */
export const Column = (): PropertyDecorator => applyDecorators(IsOptional(), Repeated(64));

/** An object, or its text. */
export const Settings = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: Given) => (typeof value === 'string' ? objectIn(value) : value)),
    IsObject(),
  );

export const Instant = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: Given) =>
      value === '' ? null : typeof value === 'string' ? momentIn(value).text : value,
    ),
    IsISO8601({ strict: true }),
  );

function objectIn(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return parseJsonText(text);
  } catch {
    return text;
  }
}
