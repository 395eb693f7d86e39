import { Matches as MatchesRule, type ValidationOptions } from 'class-validator';

/**
 * Validation rules of forms. Rules that are not listed are not bundled: the check of telephone numbers alone is large.
 */
export {
  ArrayMaxSize,
  ArrayMinSize,
  getMetadataStorage,
  IS_OPTIONAL,
  IsArray,
  IsBase64,
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  IsUUID,
  Length,
  Max,
  MaxLength,
  Min,
  MinLength,
  ValidateBy,
  ValidateIf,
  ValidateNested,
  type ValidationError,
  Validator,
  type ValidatorOptions,
} from 'class-validator';

/** Requires a text of this form. Errors state what is expected, such as "an email address", never the expression. */
export const Matches = (
  pattern: RegExp,
  expected: string,
  options: Pick<ValidationOptions, 'each'> = {},
): PropertyDecorator => {
  const subject = options.each === true ? 'each value in $property' : '$property';
  return MatchesRule(pattern, { ...options, message: `${subject} must be ${expected}` });
};
