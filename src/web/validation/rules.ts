/**
 * Rules of class-validator for DTOs. A page that imported the package itself would add all of its rules to the bundle
 * of the service, 3 MB of each process.
 */
export {
  ArrayMaxSize,
  IsArray,
  IsBase64,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsOptional,
  IsString,
  IsUUID,
  Length,
  Max,
  MaxLength,
  Min,
  MinLength,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
