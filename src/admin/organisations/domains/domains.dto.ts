import { IsOptional, IsString, MaxLength, IfPresent, IsColour, IsFlag, IsHost, IsLine } from '../../../web';

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

  @IfPresent()
  @IsFlag()
  remove_logo?: boolean;
}
