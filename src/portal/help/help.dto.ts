import { IsIn, IsOptional, IsString, MaxLength } from '../../web';

export class HelpForm {
  /** `open` restores the explanation. */
  @IsOptional()
  @IsIn(['closed', 'open'])
  help?: 'closed' | 'open';

  @IsOptional()
  @IsString()
  @MaxLength(2_000)
  next?: string;
}
