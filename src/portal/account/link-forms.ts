import { IsOptional } from '../../platform';
import { IsToken } from './fields';

/** The token of a link that was mailed. */
export class LinkForm {
  @IsToken()
  token: string;
}

export class LinkQuery {
  @IsOptional()
  @IsToken()
  token?: string;
}
