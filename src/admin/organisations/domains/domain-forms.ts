import { Transform } from 'class-transformer';
import { IsOptional, IsString, Matches, MaxLength, MinLength } from '../../../platform';
import { IsFlag, IsLine } from '../../pages/fields';

const COLOUR = /^#[0-9a-f]{6}$/;

const IsHost = (): PropertyDecorator => (target, key) => {
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' ? value.trim().toLowerCase() : value,
  )(target, key);
  IsString()(target, key);
  MinLength(4)(target, key);
  MaxLength(260)(target, key);
};

const IsColour = (): PropertyDecorator => (target, key) => {
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && value.trim() !== '' ? value.trim().toLowerCase() : null,
  )(target, key);
  IsOptional()(target, key);
  Matches(COLOUR, 'a colour, like #1a2b3c')(target, key);
};

export class DomainNameForm {
  @IsHost()
  host: string;
}

export class DomainForm extends DomainNameForm {
  @IsLine(60)
  name: string;

  @IsColour()
  accent?: string | null;

  @IsColour()
  accent_dark?: string | null;

  /** PNG as `data:image/png;base64,…`, or as an uploaded file. */
  @IsOptional()
  @IsString()
  @MaxLength(100_000)
  logo?: string;

  @IsFlag()
  remove_logo?: boolean;
}
