import { applyDecorators } from '@nestjs/common';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsObject, IsString, MaxLength } from 'class-validator';
import { parseJsonText, rowIds } from '../../kernel';
import { mailAddress } from '../../platform';
import { type AbsenceOptions, ParsedBy } from './parsed-by.decorator';
import { MatchesFormat } from './text.decorators';
import { ConvertText, WrapInList } from './transforms';

/** A list of row ids, or a text with commas between them. */
export const IsRowIdList = (absence?: AbsenceOptions): PropertyDecorator => ParsedBy(rowIds, absence);

/** A list, or a text separated by commas or line breaks. */
export const IsTextList = (maxItems: number, maxLength = 128): PropertyDecorator =>
  applyDecorators(
    ConvertText((text) =>
      text
        .split(/[,\n]/)
        .map((word) => word.trim())
        .filter((word) => word !== ''),
    ),
    IsArray(),
    ArrayMaxSize(maxItems),
    IsString({ each: true }),
    MaxLength(maxLength, { each: true }),
  );

/** Values of a field that a form repeats; a single value becomes a list. */
export const IsRepeatedText = (maxItems: number): PropertyDecorator =>
  applyDecorators(
    WrapInList(),
    IsArray(),
    ArrayMinSize(1),
    ArrayMaxSize(maxItems),
    IsString({ each: true }),
    MaxLength(256, { each: true }),
  );

/** Single address, list of addresses, or text with one address per line. */
export const IsEmailAddressList = (maxItems: number): PropertyDecorator =>
  applyDecorators(
    ConvertText((text) => [...new Set(text.split(/[\s,;]+/).filter((part) => part !== ''))]),
    IsArray(),
    ArrayMinSize(1),
    ArrayMaxSize(maxItems),
    MatchesFormat(mailAddress, 'an email address', { each: true }),
    MaxLength(254, { each: true }),
  );

/** An object, or its JSON text; an empty text is an empty object. */
export const IsSettingsObject = (): PropertyDecorator =>
  applyDecorators(ConvertText(parseObject), IsObject());

function parseObject(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return parseJsonText(text);
  } catch {
    return text;
  }
}
