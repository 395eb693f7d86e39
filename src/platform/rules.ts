import { Matches as MatchesRule, type ValidationOptions } from 'class-validator';

/** The rules that forms have. What is not named here is not in the artefact: the check of telephone numbers alone is large. */
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

/** Requires a text of this form. Refusals say what is expected, such as "an email address", never the expression. */
export const Matches = (
  pattern: RegExp,
  expected: string,
  options: Pick<ValidationOptions, 'each'> = {},
): PropertyDecorator => {
  const subject = options.each === true ? 'each value in $property' : '$property';
  return MatchesRule(pattern, { ...options, message: `${subject} must be ${expected}` });
};
