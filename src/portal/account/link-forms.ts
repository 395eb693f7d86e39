import { IsOptional } from '../../platform';
import { IsToken } from './fields';

export class MailedLinkForm {
  @IsToken()
  token: string;
}

export class MailedLinkQuery {
  @IsOptional()
  @IsToken()
  token?: string;
}
